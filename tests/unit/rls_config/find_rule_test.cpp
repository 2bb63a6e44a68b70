// Which rule a descriptor finds, by what it is counted, and how its metrics are called.
#include "common/rls_config/find_rule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/rls_config/config_reader.hpp"

namespace sluice::rls_config {
namespace {

using Entries = std::vector<Entry>;

struct Found {
  std::string path;    // of the rule; "": no limit
  std::string metric;  // "" without a limit
  std::string counted;
};

// "d.user_ada.route" of "user_ada" and "route", each ended by kPartEnd.
std::string joined(std::string parts) {
  parts.pop_back();
  std::ranges::replace(parts, kPartEnd, '.');
  return "d." + parts;
}

// A config with one domain, `d`.
class Rules {
 public:
  explicit Rules(std::string descriptors) {
    const std::vector<FileText> files{{"d.yaml", "domain: d\ndescriptors:\n" + std::move(descriptors)}};
    auto read = read_config(files);
    REQUIRE(read);
    config_ = read->config;
  }

  Found find(const Entries& entries) {
    find_rule(*config_->find("d"), entries, match_);
    Found found;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      found.counted.append(i == 0 ? "" : ",").append(match_.counted_value(i, entries[i]));
    }
    if (match_.rule == nullptr) return found;
    found.path = match_.rule->path;
    std::string parts;
    append_metric_parts(match_, entries, parts);
    found.metric = joined(parts);
    return found;
  }
  std::string path(const Entries& entries) { return find(entries).path; }

 private:
  std::shared_ptr<const Config> config_;
  Match match_;  // one for all, because it keeps its memory
};

constexpr std::string_view kRule = "rate_limit: {unit: day, requests_per_unit: 5}";

std::string with_rule(std::string_view fields) {
  return "  - {" + std::string(fields) + ", " + std::string(kRule) + "}\n";
}

TEST_CASE("a value comes before a pattern, a pattern before the key alone") {
  Rules rules(with_rule("key: k") + with_rule("key: k, value: a*") + with_rule("key: k, value: ab*") +
              with_rule("key: k, value: abc"));
  CHECK(rules.path({{"k", "abc"}}) == "d.k_abc");
  CHECK(rules.path({{"k", "abd"}}) == "d.k_a*");  // the first pattern of the file
  CHECK(rules.path({{"k", "a"}}) == "d.k_a*");
  CHECK(rules.path({{"k", "b"}}) == "d.k");
  CHECK(rules.path({{"k", ""}}) == "d.k");
  CHECK(rules.path({{"other", "abc"}}).empty());
}

TEST_CASE("a value is found whatever its length, beside values of other lengths") {
  for (std::size_t size = 1; size <= 140; ++size) {
    CAPTURE(size);
    const std::string value(size, 'x');
    Rules rules(with_rule("key: k") + with_rule("key: k, value: " + value));
    CHECK(rules.path({{"k", value}}) == "d.k_" + value);
    CHECK(rules.path({{"k", value + "x"}}) == "d.k");
    CHECK(rules.path({{"k", std::string(size + 64, 'x')}}) == "d.k");
    CHECK(rules.path({{"k_" + value, ""}}) == "d.k_" + value);  // as a key
  }
}

TEST_CASE("upper and lower case differ") {
  Rules rules(with_rule("key: k, value: abc"));
  CHECK(rules.path({{"k", "Abc"}}).empty());
  CHECK(rules.path({{"K", "abc"}}).empty());
}

TEST_CASE("only a rule of the last entry counts") {
  Rules rules(
      "  - key: a\n"
      "    rate_limit: {unit: day, requests_per_unit: 1}\n"
      "    descriptors:\n"
      "      - key: b\n"
      "        descriptors:\n"
      "          - key: c\n"
      "            rate_limit: {unit: day, requests_per_unit: 2}\n");
  CHECK(rules.path({{"a", "1"}}) == "d.a");
  CHECK(rules.path({{"a", "1"}, {"b", "2"}}).empty());
  CHECK(rules.path({{"a", "1"}, {"b", "2"}, {"c", "3"}}) == "d.a.b.c");
  CHECK(rules.path({{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}}).empty());
  CHECK(rules.path({{"a", "1"}, {"c", "3"}}).empty());
  CHECK(rules.path({{"b", "2"}}).empty());
  CHECK(rules.path({}).empty());
}

TEST_CASE("a descriptor that is deeper than the configuration has no limit") {
  Rules rules(with_rule("key: key, value: value"));
  CHECK(rules.path({{"key", "value"}, {"subkey", "subvalue"}}).empty());
}

TEST_CASE("a value does not fall back to the key where its own descriptor has no rule") {
  Rules rules("  - {key: k, value: free}\n" + with_rule("key: k"));
  CHECK(rules.path({{"k", "free"}}).empty());
  CHECK(rules.path({{"k", "paid"}}) == "d.k");
}

TEST_CASE("patterns work below patterns") {
  Rules rules(
      "  - key: host\n"
      "    value: api*\n"
      "    descriptors:\n"
      "      - {key: path, value: /v1/*, rate_limit: {unit: day, requests_per_unit: 5}}\n");
  CHECK(rules.path({{"host", "api.eu"}, {"path", "/v1/users"}}) == "d.host_api*.path_/v1/*");
  CHECK(rules.path({{"host", "api.eu"}, {"path", "/v2/users"}}).empty());
  CHECK(rules.path({{"host", "web"}, {"path", "/v1/users"}}).empty());
}

TEST_CASE("a key may be a pattern") {
  Rules rules(with_rule("key: tenant*"));
  CHECK(rules.path({{"tenant_eu", "5"}}) == "d.tenant*");
}

TEST_CASE("share_threshold counts all values of a pattern together") {
  Rules rules(with_rule("key: path, value: files/*, share_threshold: true") + with_rule("key: path, value: img/*"));
  CHECK(rules.find({{"path", "files/a.pdf"}}).counted == "files/*");
  CHECK(rules.find({{"path", "files/b.csv"}}).counted == "files/*");
  CHECK(rules.find({{"path", "img/a.png"}}).counted == "img/a.png");
}

TEST_CASE("share_threshold counts together below its level too, and only its own level") {
  Rules rules(
      "  - key: path\n"
      "    value: files/*\n"
      "    share_threshold: true\n"
      "    descriptors:\n"
      "      - {key: user, rate_limit: {unit: day, requests_per_unit: 5}}\n");
  const Found found = rules.find({{"path", "files/a.pdf"}, {"user", "ada"}});
  CHECK(found.path == "d.path_files/*.user");
  CHECK(found.counted == "files/*,ada");
}

TEST_CASE("metrics are called by the rule") {
  Rules rules(with_rule("key: k") + with_rule("key: k, value: v") + with_rule("key: k, value: w*"));
  CHECK(rules.find({{"k", "x"}}).metric == "d.k");
  CHECK(rules.find({{"k", "v"}}).metric == "d.k_v");
  CHECK(rules.find({{"k", "w1"}}).metric == "d.k_w*");
}

TEST_CASE("detailed_metric and value_to_metric put the value into the metric") {
  Rules rules(with_rule("key: detailed, detailed_metric: true") + with_rule("key: shown, value_to_metric: true") +
              with_rule("key: shown, value: w*, value_to_metric: true") +
              with_rule("key: shared, value: s*, value_to_metric: true, detailed_metric: true, share_threshold: true"));
  CHECK(rules.find({{"detailed", "x"}}).metric == "d.detailed_x");
  CHECK(rules.find({{"shown", "x"}}).metric == "d.shown_x");
  CHECK(rules.find({{"shown", "w1"}}).metric == "d.shown_w1");
  CHECK(rules.find({{"shared", "s1"}}).metric == "d.shared_s*");
}

TEST_CASE("value_to_metric is about its own level") {
  Rules rules(
      "  - key: route\n"
      "    value_to_metric: true\n"
      "    descriptors:\n"
      "      - {key: user, rate_limit: {unit: day, requests_per_unit: 5}}\n");
  CHECK(rules.find({{"route", "checkout"}, {"user", "ada"}}).metric == "d.route_checkout.user");
}

TEST_CASE("a limit of the request has the metric of its entries") {
  std::string parts;
  append_metric_parts(Entries{{"a", "1"}, {"b", ""}}, parts);
  CHECK(joined(parts) == "d.a_1.b");
}

TEST_CASE("a part of a metric has a bound, whole characters, and no control characters") {
  std::string parts;
  append_metric_parts(Entries{{"a", std::string("x\n\0y", 4)}, {"b", std::string(1000, 'v')}}, parts);
  CHECK(joined(parts) == "d.a_x__y.b_" + std::string(kMaxPart - 2, 'v'));
  parts.clear();
  append_part(std::string(kMaxPart - 1, 'v') + "\u00e9", parts);
  CHECK(parts == std::string(kMaxPart - 1, 'v') + kPartEnd);
}

}  // namespace
}  // namespace sluice::rls_config
