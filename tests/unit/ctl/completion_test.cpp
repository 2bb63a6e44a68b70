#include "ctl/core/completion.hpp"

#include <doctest/doctest.h>

#include "ctl/command_line.hpp"

namespace sluice::ctl {
namespace {

using Words = std::vector<std::string>;

Words complete_line(const Words& words) {
  Invocation invocation;
  const auto app = make_command_line(invocation);
  return complete(*app, words, [](std::string_view kind) {
    if (kind == "contexts") return Words{"here", "there"};
    return kind == "policies" ? Words{"orders", "pay"} : kind == "plans" ? Words{"pro"} : Words{};
  });
}

}  // namespace

TEST_CASE("commands are completed, and the one that shells call is not offered") {
  CHECK(complete_line({"ge"}) == Words{"get"});
  CHECK(complete_line({"co"}) == Words{"completion", "context", "counters"});
  const Words all = complete_line({""});
  CHECK(std::ranges::find(all, "apply") != all.end());
  CHECK(std::ranges::find(all, "__complete") == all.end());
  CHECK(complete_line({"counters", "r"}) == Words{"read", "reset"});
}

TEST_CASE("kinds and ids are completed where they stand") {
  CHECK(complete_line({"get", "pol"}) == Words{"policies"});
  CHECK(complete_line({"get", "policies", ""}) == Words{"orders", "pay"});
  CHECK(complete_line({"get", "policies", "orders", "p"}) == Words{"pay"});
  CHECK(complete_line({"get", "-o", "json", "plan", ""}) == Words{"pro"});
  CHECK(complete_line({"rollout", "o"}) == Words{"orders"});
  CHECK(complete_line({"mode", "sh"}) == Words{"shadow"});
  CHECK(complete_line({"mode", "off", "t"}) == Words{"tenant"});
}

TEST_CASE("options are completed, and the values of those that have few") {
  CHECK(complete_line({"apply", "--dr"}) == Words{"--dry-run"});
  CHECK(complete_line({"get", "policies", "--out"}) == Words{"--output"});
  CHECK(complete_line({"get", "-o", "y"}) == Words{"yaml"});
  CHECK(complete_line({"counters", "read", "--policy", ""}) == Words{"orders", "pay"});
  CHECK(complete_line({"apply", "-f", ""}).empty());
  CHECK(complete_line({"get", "plans", "--context", ""}) == Words{"here", "there"});
  CHECK(complete_line({"context", "use", "t"}) == Words{"there"});
}

TEST_CASE("a value behind an equals sign is completed as each shell hands it over") {
  CHECK(complete_line({"get", "--output", "=", "j"}) == Words{"json"});  // bash
  CHECK(complete_line({"get", "--output", "="}) == Words{"json", "name", "table", "yaml"});
  CHECK(complete_line({"get", "--output", "=", "json", "pol"}) == Words{"policies"});
  CHECK(complete_line({"get", "--output=j"}) == Words{"--output=json"});
  CHECK(complete_line({"get", "--output=json", "pol"}) == Words{"policies"});
}

}  // namespace sluice::ctl
