// Files of envoyproxy/ratelimit: what is read, and what is refused where.
#include "common/rls_config/config_reader.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <fmt/core.h>

namespace sluice::rls_config {
namespace {

// The rules of one file.
std::shared_ptr<const Config> read(std::string text) {
  const std::vector<FileText> files{{"a.yaml", std::move(text)}};
  auto config = read_config(files);
  if (!config) {
    for (const Fault& fault : config.error().front().faults) MESSAGE(fault.line, ": ", fault.text);
  }
  REQUIRE(config);
  return config->config;
}

std::string said(const std::vector<FileFaults>& all) {
  std::string text;
  for (const FileFaults& file : all) {
    for (const Fault& fault : file.faults) {
      text += fmt::format("{}:{}:{}: {}: {}\n", file.file, fault.line, fault.column, fault.pointer, fault.text);
    }
  }
  return text;
}

// "FILE:LINE:COLUMN: POINTER: TEXT" of each fault.
std::string faults_of(const std::vector<FileText>& files) {
  const auto config = read_config(files);
  REQUIRE_FALSE(config);
  return said(config.error());
}
std::string faults_of(std::string text) { return faults_of(std::vector<FileText>{{"a.yaml", std::move(text)}}); }

std::string notes_of(std::string text) {
  const std::vector<FileText> files{{"a.yaml", std::move(text)}};
  const auto config = read_config(files);
  REQUIRE(config);
  return said(config->notes);
}

const Node& child(const Node& parent, std::string_view name) {
  const auto found = parent.children.find(name);
  REQUIRE(found != parent.children.end());
  return *found->second;
}

TEST_CASE("all sixteen keys are read") {
  const auto config = read(R"(---
domain: shop
descriptors:
  - key: path
    value: files*
    share_threshold: true
    value_to_metric: true
    detailed_metric: true
    shadow_mode: true
    quota_mode: true
    metadata: {team: files, nested: {level: 2}}
    rate_limit:
      name: files
      unit: Hour
      requests_per_unit: 4294967295
      replaces:
        - name: one
        - name: two
    descriptors:
      - key: user
        rate_limit:
          unlimited: true
)");
  CHECK(config->rules == 2);
  const Node* const shop = config->find("shop");
  REQUIRE(shop != nullptr);
  CHECK(config->find("other") == nullptr);
  const Node& path = child(*shop, "path_files*");
  CHECK(path.share_threshold);
  CHECK(path.value_to_metric);
  CHECK(shop->wildcards == std::vector<const Node*>{&path});
  const Rule& rule = path.rule.value();
  CHECK(rule.name == "files");
  CHECK(rule.unit == Unit::hour);
  CHECK(rule.requests_per_unit == 4294967295U);
  CHECK(rule.replaces == std::vector<std::string>{"one", "two"});
  CHECK(rule.detailed_metric);
  CHECK(rule.shadow_mode);
  CHECK(rule.quota_mode);
  CHECK(rule.metadata == R"({"team":"files","nested":{"level":2}})");
  CHECK(rule.path == "shop.path_files*");
  const Rule& user = child(path, "user").rule.value();
  CHECK(user.unlimited);
  CHECK_FALSE(user.shadow_mode);
  CHECK(user.path == "shop.path_files*.user");
}

TEST_CASE("each unit has its length") {
  const std::vector<std::pair<std::string, std::int64_t>> lengths{
      {"second", 1},    {"minute", 60},     {"hour", 3600},    {"day", 86400},
      {"week", 604800}, {"month", 2592000}, {"year", 31536000}};
  for (const auto& [name, seconds] : lengths) {
    const auto config =
        read(fmt::format("domain: d\ndescriptors: [{{key: k, rate_limit: {{unit: {}, requests_per_unit: 1}}}}]", name));
    CHECK(length_of(child(*config->find("d"), "k").rule->unit).count() == seconds);
  }
}

TEST_CASE("the numbers of units are those of Envoy's messages") {
  CHECK(unit_from(std::uint64_t{1}) == Unit::second);
  CHECK(unit_from(std::uint64_t{5}) == Unit::month);
  CHECK(unit_from(std::uint64_t{7}) == Unit::week);
  CHECK(unit_from(std::uint64_t{0}) == std::nullopt);
  CHECK(unit_from(std::uint64_t{8}) == std::nullopt);
  for (std::uint64_t number = 1; number <= 7; ++number) {
    const auto unit = unit_from(number);
    REQUIRE(unit);
    CHECK(unit_from(to_string(*unit)) == unit);
  }
}

TEST_CASE("a descriptor without a rule and without descriptors is fine") {
  const auto config = read("domain: d\ndescriptors:\n  - key: free\n");
  CHECK_FALSE(child(*config->find("d"), "free").rule);
  CHECK(config->rules == 0);
}

TEST_CASE("a file without descriptors has a domain without limits") {
  CHECK(read("domain: d\n")->find("d") != nullptr);
}

TEST_CASE("keys, values and names that YAML takes for numbers are texts") {
  const auto config =
      read("domain: 7\ndescriptors:\n  - {key: code, value: 404}\n  - {key: on, value: true}\n  - {key: 1.5}\n");
  const Node* const root = config->find("7");
  REQUIRE(root != nullptr);
  child(*root, "code_404");
  child(*root, "on_true");
  child(*root, "1.5");
}

TEST_CASE("an unknown key is refused with its line") {
  CHECK(
      faults_of("domain: d\ndescriptors:\n  - key: k\n    rate_limit:\n      unit: day\n      request_per_unit: 5\n") ==
      "a.yaml:6:25: /descriptors/0/rate_limit/request_per_unit: \"request_per_unit\" is not a field of this object: "
      "did you mean \"requests_per_unit\"?\n");
  CHECK(faults_of("domain: d\ncolour: red\n").starts_with("a.yaml:2:9: /colour: \"colour\" is not a field"));
  CHECK(faults_of("domain: d\ndescriptors:\n  - key: k\n    colour: red\n")
            .starts_with("a.yaml:4:13: /descriptors/0/colour"));
}

TEST_CASE("a key in the wrong place is ignored, and noted with its line") {
  const std::string text =
      "domain: d\ndescriptors:\n  - key: k\n    rate_limit:\n      unit: day\n      requests_per_unit: 5\n      "
      "shadow_mode: true\n";
  CHECK(notes_of(text) ==
        "a.yaml:7:20: /descriptors/0/rate_limit/shadow_mode: `shadow_mode` has no meaning in rate_limit and is "
        "ignored\n");
  CHECK_FALSE(child(*read(text)->find("d"), "k").rule->shadow_mode);
}

TEST_CASE("a rule without a number allows nothing, and that is noted") {
  const std::string text = "domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: day}\n";
  CHECK(notes_of(text).find("counts as 0") != std::string::npos);
  CHECK(child(*read(text)->find("d"), "k").rule->requests_per_unit == 0);
}

TEST_CASE("what a file must have is missed with its line") {
  CHECK(faults_of("descriptors: []\n").find("a.yaml:1:1: /domain: domain is missing") == 0);
  CHECK(faults_of("domain: ''\n") == "a.yaml:1:9: /domain: must not be empty\n");
  CHECK(faults_of("domain: d\ndescriptors:\n  - value: v\n").find("a.yaml:3:5: /descriptors/0/key: key is missing") ==
        0);
  CHECK(faults_of("domain: d\ndescriptors:\n  - key: ''\n") == "a.yaml:3:10: /descriptors/0/key: must not be empty\n");
  CHECK(faults_of("domain: d\ndescriptors:\n  - key: k\n    rate_limit: {requests_per_unit: 1}\n")
            .find("unit is missing") != std::string::npos);
}

TEST_CASE("a wrong value is refused with its line") {
  const auto rule = [](std::string_view fields) {
    return faults_of(fmt::format("domain: d\ndescriptors:\n  - key: k\n    rate_limit:\n      {}\n", fields));
  };
  CHECK(rule("{unit: fortnight, requests_per_unit: 1}")
            .find("a.yaml:5:14: /descriptors/0/rate_limit/unit: is \"fortnight\"") == 0);
  CHECK(rule("{unit: unknown, requests_per_unit: 1}").find("must be one of second, minute") != std::string::npos);
  CHECK(rule("{unit: day, unlimited: true}").find("must be left out where `unlimited` is true") != std::string::npos);
  CHECK(rule("{unit: day, requests_per_unit: -1}").find("/descriptors/0/rate_limit/requests_per_unit: ") !=
        std::string::npos);
  CHECK(rule("{unit: day, requests_per_unit: 4294967296}").find("requests_per_unit") != std::string::npos);
  CHECK(rule("{unit: day, requests_per_unit: many}").find("requests_per_unit") != std::string::npos);
  CHECK(rule("{unlimited: maybe}").find("unlimited") != std::string::npos);
  CHECK(rule("{unit: day, requests_per_unit: 1, name: a, replaces: [{name: a}]}").find("cannot replace itself") !=
        std::string::npos);
  CHECK(rule("{unit: day, requests_per_unit: 1, replaces: [{name: ''}]}").find("must not be empty") !=
        std::string::npos);
  CHECK(rule("{unit: day, requests_per_unit: 1, replaces: [a]}").find("/replaces/0") != std::string::npos);
  CHECK(faults_of("domain: d\ndescriptors: {key: k}\n").find("a list") != std::string::npos);
  CHECK(faults_of("domain: d\ndescriptors: [5]\n").find("/descriptors/0") != std::string::npos);
  CHECK(faults_of("domain: [d]\n").find("a text") != std::string::npos);
  CHECK(faults_of("domain: d\ndescriptors: [{key: k, metadata: 5}]\n").find("a map") != std::string::npos);
  CHECK(faults_of("domain: d\ndescriptors: [{key: k, value: v, share_threshold: true}]\n").find("ends in '*'") !=
        std::string::npos);
  CHECK(faults_of("domain: d\n  descriptors: x\n").starts_with("a.yaml:2:"));
  CHECK(faults_of("").find("a.yaml:1:1") == 0);
}

TEST_CASE("a domain or a descriptor that is there twice is refused") {
  CHECK(faults_of({{"a.yaml", "domain: d\n"}, {"b.yaml", "# mine\ndomain: d\n"}}) ==
        "b.yaml:2:9: /domain: is in another file already: \"d\"\n");
  CHECK(faults_of("domain: d\ndescriptors:\n  - {key: a, value: b}\n  - {key: a, value: b}\n") ==
        "a.yaml:4:21: /descriptors/1/value: is the same descriptor as an earlier one: \"d.a_b\"\n");
  CHECK(faults_of("domain: d\ndescriptors:\n  - {key: a}\n  - {key: a}\n").find("a.yaml:4:11: /descriptors/1/key") ==
        0);
  CHECK(faults_of("domain: d\ndescriptors:\n  - {key: a, value: b}\n  - {key: a_b}\n").find("d.a_b") !=
        std::string::npos);
}

TEST_CASE("the faults of all files are found") {
  const std::string said =
      faults_of({{"a.yaml", "domain: d\nx: 1\n"}, {"b.yaml", "domain: e\n"}, {"c.yaml", "y: 1\n"}});
  CHECK(said.find("a.yaml:2:4") != std::string::npos);
  CHECK(said.find("b.yaml") == std::string::npos);
  CHECK(said.find("c.yaml:1:4: /y") != std::string::npos);
  CHECK(said.find("c.yaml:1:1: /domain") != std::string::npos);
}

}  // namespace
}  // namespace sluice::rls_config
