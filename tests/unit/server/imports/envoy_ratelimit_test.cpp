// Configuration files of envoyproxy/ratelimit.
#include "tests/unit/server/imports/imported.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr const char* kFile = R"(domain: messaging
descriptors:
  - key: kind
    value: marketing
    descriptors:
      - key: to
        rate_limit: {unit: day, requests_per_unit: 5}
  - key: to
    rate_limit: {unit: minute, requests_per_unit: 3, replaces: [{name: x}]}
  - key: to
    value: "100"
    rate_limit: {unlimited: true}
  - key: to
    value: free*
    shadow_mode: true
    share_threshold: true
    detailed_metric: true
    rate_limit: {unit: month, requests_per_unit: 9}
)";

}  // namespace

TEST_CASE("a rule is a policy whose scope has its domain and keys, and open keys name the counter") {
  const Made made = import_text("envoy-ratelimit", kFile);
  REQUIRE(made.policies.size() == 4);
  CHECK(scope(made.policies[0]) == "attr.domain=messaging attr.kind=marketing attr.to=*");
  CHECK(dimensions(made.policies[0].enforcement.key_by) == "attr.to");
  CHECK(scope(made.policies[1]) == "attr.domain=messaging attr.to=*");
  CHECK(scope(made.policies[2]) == "attr.domain=messaging attr.to=100");
  CHECK(made.policies[2].enforcement.mode == Mode::off);
  CHECK(made.policies[3].enforcement.action == Action::shadow_only);
  CHECK(made.policies[3].enforcement.key_by.empty());
  CHECK(made.policies[3].limits[0].window == Micros(std::chrono::days(30)));
}

TEST_CASE("windows of envoyproxy/ratelimit are those of the clock") {
  Counter counter(import_text("envoy-ratelimit", kFile).policies[1]);
  CHECK(counter.admitted_of(5, 59'000) == 3);
  CHECK_FALSE(counter.admits(59'999));
  CHECK(counter.admitted_of(5, 60'000) == 3);
}

TEST_CASE("what is for metrics, and what replaces other limits, is a note") {
  const Made made = import_text("envoy-ratelimit", kFile);
  CHECK(made.notes_line("file:1", "exactly its keys"));
  CHECK(made.notes_line("file:8", "replaces"));
  CHECK(made.notes_line("file:13", "detailed_metric"));
  CHECK(made.notes.size() == 3);
}

TEST_CASE("a key or a unit that is not known is a fault, as in the agent") {
  CHECK(import_text("envoy-ratelimit", "domain: d\ndescriptors:\n- key: k\n  ratelimit: {unit: day}\n")
            .faults_line("file:4", "ratelimit"));
  CHECK(import_text("envoy-ratelimit",
                    "domain: d\ndescriptors:\n- key: k\n  rate_limit: {unit: eon, requests_per_unit: 1}\n")
            .faults_line("file:4", "second, minute, hour"));
  CHECK(import_text("envoy-ratelimit", "descriptors: []\n").faults_line("file:1", "domain is missing"));
}

TEST_CASE("what envoyproxy/ratelimit would never find, or no scope can say, is left out with a note") {
  const Made made = import_text("envoy-ratelimit", R"(domain: d
descriptors:
  - {key: k, value: a*, rate_limit: {unit: hour, requests_per_unit: 1}}
  - {key: k, value: ab*, rate_limit: {unit: hour, requests_per_unit: 2}}
  - key: k
    rate_limit: {unit: hour, requests_per_unit: 3}
    descriptors:
      - {key: k, rate_limit: {unit: hour, requests_per_unit: 4}}
      - {key: free}
  - {key: any*, rate_limit: {unit: hour, requests_per_unit: 5}}
)");
  CHECK(made.notes_line("file:4", "line 3 is found first"));
  CHECK(made.notes_line("file:8", "has the same key"));
  CHECK(made.notes_line("file:10", "by their beginning"));
  REQUIRE(made.policies.size() == 3);
  CHECK(scope(made.policies[2]) == "attr.domain=d attr.free=* attr.k=*");
  CHECK(made.policies[2].enforcement.mode == Mode::off);
}
