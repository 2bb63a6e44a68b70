// decK files of Kong.
#include "tests/unit/server/imports/imported.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr const char* kFile = R"(_format_version: "3.0"
plugins:
  - name: rate-limiting
    config: {minute: 100, month: 5000, limit_by: ip, policy: redis, redis: {host: r}}
services:
  - name: orders
    url: http://orders
    plugins:
      - name: rate-limiting-advanced
        config:
          limit: [10, 50]
          window_size: [10, 60]
          window_type: sliding
          identifier: header
          header_name: X-Account
          namespace: n
          error_code: 503
    routes:
      - name: list
        paths: [/orders]
        plugins:
          - name: cors
          - name: rate-limiting
            config:
              second: 5
              fault_tolerant: false
              hide_client_headers: true
              unheard_of: 1
consumers:
  - username: alice
    plugins:
      - name: rate-limiting
        enabled: false
        config: {hour: 7}
)";

}  // namespace

TEST_CASE("plugins of Kong become policies of the place that they are bound to") {
  const Made made = import_text("kong", kFile);
  REQUIRE(made.policies.size() == 4);
  CHECK(scope(made.policy("kong-global")).empty());
  CHECK(scope(made.policy("kong-advanced-orders")) == "service=orders");
  CHECK(scope(made.policy("kong-orders-list")) == "service=orders operation=list");
  CHECK(scope(made.policy("kong-alice")) == "client=alice");
  CHECK_FALSE(made.policy("kong-alice").enabled);
}

TEST_CASE("what identifies a caller in Kong names the counter") {
  const Made made = import_text("kong", kFile);
  CHECK(dimensions(made.policy("kong-global").enforcement.key_by) == "source_ip");
  CHECK(made.policy("kong-global").enforcement.ipv6_prefix == 128);
  CHECK(dimensions(made.policy("kong-advanced-orders").enforcement.key_by) == "attr.x-account");
  CHECK(dimensions(made.policy("kong-orders-list").enforcement.key_by) == "client");
}

TEST_CASE("fault_tolerant and hide_client_headers are kept") {
  const Made made = import_text("kong", kFile);
  CHECK(made.policy("kong-global").enforcement.failure_mode == FailureMode::fail_open);
  CHECK(made.policy("kong-orders-list").enforcement.failure_mode == FailureMode::fail_closed);
  CHECK(made.policy("kong-orders-list").enforcement.expose == Expose::none);
}

TEST_CASE("what Kong has and Sluice has not is noted with its line") {
  const Made made = import_text("kong", kFile);
  CHECK(made.notes_line("file:16", "namespace"));
  CHECK(made.notes_line("file:17", "answers 429, not 503"));
  CHECK(made.notes_line("file:28", "unheard_of"));
  // disable_penalty is absent: the note is where the config begins.
  CHECK(made.notes_line("file:11", "also counts the requests that it denies"));
  CHECK(made.notes.size() == 4);
}

TEST_CASE("windows of rate-limiting are those of the clock, judged together") {
  Counter counter(import_text("kong", "plugins: [{name: rate-limiting, config: {second: 2, minute: 3}}]").policies[0]);
  CHECK(counter.admitted_of(4, 500) == 2);
  CHECK(counter.admitted_of(4, 1'000) == 1);  // a new second, and one left of the minute
  CHECK_FALSE(counter.admits(59'999));
  CHECK(counter.admitted_of(4, 60'000) == 2);
}

TEST_CASE("a sliding window of rate-limiting-advanced weights the window before") {
  Counter counter(import_text("kong",
                              "plugins: [{name: rate-limiting-advanced, config: {limit: 10, window_size: 10, "
                              "disable_penalty: true}}]")
                      .policies[0]);
  CHECK(counter.admitted_of(12, 9'000) == 10);
  CHECK_FALSE(counter.admits(10'000));          // 10 · 10/10 are counted
  CHECK(counter.admitted_of(12, 15'000) == 5);  // 10 · 5/10
}

TEST_CASE("a month of rate-limiting is a month of the calendar") {
  const Made made = import_text("kong", kFile);
  const Limit& month = made.policy("kong-global").limits[1];
  CHECK(month.algorithm == Algorithm::quota);
  CHECK(month.period == Period::month);
}

TEST_CASE("lists of other lengths, other types and plugins without a limit are faults with their line") {
  CHECK(import_text("kong",
                    "plugins:\n- name: rate-limiting-advanced\n  config:\n    limit: [1]\n    window_size: [1, 2]\n")
            .faults_line("file:5", "they have 1 and 2"));
  CHECK(import_text("kong", "plugins:\n- name: rate-limiting\n  config: {minute: many}\n")
            .faults_line("file:3", "minute must be"));
  CHECK(import_text("kong", "plugins:\n- name: rate-limiting\n  config: {policy: local}\n")
            .faults_line("file:3", "has no limit"));
  CHECK(import_text("kong", "plugins:\n- name: rate-limiting\n  config: {minute: 1, limit_by: moon}\n")
            .faults_line("file:3", "limit_by must be"));
}

TEST_CASE("plugins of consumer groups, and those that count something else, are notes") {
  const Made made = import_text("kong",
                                "consumer_groups:\n- name: gold\n  plugins:\n  - name: rate-limiting-advanced\n    "
                                "config: {limit: [1], window_size: [1]}\n"
                                "plugins:\n- name: response-ratelimiting\n  config: {}\n");
  CHECK(made.policies.empty());
  CHECK(made.notes_line("file:4", "group of consumers"));
  CHECK(made.notes_line("file:7", "something else than requests"));
}
