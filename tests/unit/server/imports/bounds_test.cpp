// Texts whose import would take memory or time without bounds.
#include <fmt/core.h>

#include "server/imports/draft.hpp"
#include "tests/unit/server/imports/imported.hpp"

namespace sluice {
namespace {

using server::imports::Draft;
using test::import_text;
using test::Made;

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (; times > 0; --times) out += text;
  return out;
}

// nginx: one server with a limit and `block`.
std::string server_of(std::string_view block) {
  return fmt::format("limit_req_zone $uri zone=z:1m rate=1r/s; server {{ limit_req zone=z; {} }}", block);
}

}  // namespace

TEST_CASE("an import makes at most 10,000 policies, also of the same name") {
  std::string text = "plugins:\n";
  text += repeated("- {name: rate-limiting, config: {minute: 1}}\n", Draft::kMaxPolicies + 1);
  CHECK(import_text("kong", text).faults_line("file:10002", "at most 10000 policies"));
}

TEST_CASE("requests of Gubernator beyond 10,000 are a fault") {
  const std::string text = repeated("- {name: a, limit: 1, duration: 1}\n", Draft::kMaxPolicies + 1);
  CHECK(import_text("gubernator", text).faults_line("file:10001", "at most 10000 requests"));
}

TEST_CASE("notes beyond 10,000 are not listed, and a note says so") {
  std::string text;
  for (int i = 0; i < 150; ++i) {
    text += fmt::format("- {{namespace: a, max_value: 1, seconds: 1, conditions: [\"k{} == 'v'\"]}}\n", i);
  }
  const Made made = import_text("limitador", text);
  CHECK(made.notes.size() == Draft::kMaxNotes + 1);
  CHECK(std::ranges::any_of(
      made.notes, [](const std::string& note) { return note.find("more than these 10000") != std::string::npos; }));
}

TEST_CASE("a wide limit is not repeated in the policies of narrower ones more often than a policy has limits") {
  std::string text = repeated("- {namespace: a, max_value: 1, seconds: 1}\n", 2'000);
  for (int i = 0; i < 2'000; ++i) {
    text += fmt::format("- {{namespace: a, max_value: 1, seconds: 1, conditions: [\"k == 'v{}'\"]}}\n", i);
  }
  CHECK(import_text("limitador", text).faults_line("file:1", "limits"));
}

TEST_CASE("chains of middlewares that name each other are read once") {
  std::string text =
      "http: {routers: {r: {rule: 'Host(`a`)', middlewares: [m0]}}, middlewares: {limit: {rateLimit: "
      "{average: 1}}";
  for (int i = 0; i < 8; ++i) {
    const std::string next = i == 7 ? "m0" : fmt::format("m{}", i + 1);
    text += fmt::format(", m{}: {{chain: {{middlewares: [{} limit]}}}}", i, repeated(next + ", ", 100));
  }
  const Made made = import_text("traefik", text + "}}");
  CHECK(made.policy("traefik-r").limits.size() == 1);
}

TEST_CASE("a router of Traefik has a bounded number of middlewares and of hosts") {
  std::string text = "http:\n  routers:\n    r:\n      middlewares: [";
  for (int i = 0; i < 201; ++i) text += fmt::format("m{}, ", i);
  CHECK(import_text("traefik", text + "]\n").faults_line("file:4", "at most 200 middlewares"));
  const Made made =
      import_text("traefik", fmt::format("http:\n  routers:\n    r: {{rule: 'Host({}`a`)', middlewares: [m]}}\n"
                                         "  middlewares: {{m: {{rateLimit: {{average: 1}}}}}}\n",
                                         repeated("`a`,", 100'000)));
  CHECK(made.notes_line("file:3", "more than hosts, paths and methods"));
}

TEST_CASE("a block of nginx has at most 16 limits, and a server a bounded number of names and locations") {
  CHECK(import_text("nginx", server_of(repeated("limit_req zone=z;", 16))).faults_line("file:1", "at most 16 limits"));
  CHECK(import_text("nginx", server_of(repeated("location /a { }", 2'001))).faults_line("file:1", "2000 locations"));
  std::string names = "server_name";
  for (int i = 0; i < 100'000; ++i) names += fmt::format(" {}", i);
  CHECK(import_text("nginx", server_of(names + ";")).faults_line("file:1", "at most 1000 names"));
  CHECK(import_text("nginx", repeated("a;", 300'000)).faults_line("file:1", "more than 500000 words"));
}

TEST_CASE("names of a long line are not searched one by one") {
  std::string text = R"({"plugins":[{"name":"rate-limiting","config":{"minute":1)";
  for (int i = 0; i < 20'000; ++i) text += fmt::format(R"(,"x{:0100}":1)", i);
  CHECK(import_text("kong", text + "}}]}").notes.size() == Draft::kMaxNotes + 1);
}

}  // namespace sluice
