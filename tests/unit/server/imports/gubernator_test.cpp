// Requests of Gubernator.
#include "tests/unit/server/imports/imported.hpp"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("a name of Gubernator is the operation, and its unique_key the subject") {
  const Made made = import_text("gubernator", R"({"requests":[
    {"name":"reads","unique_key":"account:1","limit":10,"duration":1000,"hits":1},
    {"name":"reads","unique_key":"account:2","limit":10,"duration":1000}]})");
  REQUIRE(made.policies.size() == 1);
  CHECK(scope(made.policies[0]) == "operation=reads");
  CHECK(dimensions(made.policies[0].enforcement.key_by) == "subject");
  CHECK(made.notes.empty());
}

TEST_CASE("keys with limits of their own have policies of their own") {
  const Made made = import_text("gubernator",
                                "- {name: r, unique_key: a, limit: 1, duration: 1000}\n"
                                "- {name: r, unique_key: b, limit: 2, duration: 1000}\n"
                                "- {name: r, unique_key: c, limit: 1, duration: 1000}\n");
  REQUIRE(made.policies.size() == 2);
  CHECK(scope(made.policies[0]) == "operation=r subject=a|c");
  CHECK(scope(made.policies[1]) == "operation=r subject=b");
}

TEST_CASE("a token bucket of Gubernator gives all back a duration after its first hit") {
  Counter counter(import_text("gubernator", "- {name: r, limit: 3, duration: 10000}").policies[0]);
  CHECK(counter.admitted_of(5, 4'000) == 3);
  CHECK_FALSE(counter.admits(13'999));
  CHECK(counter.admitted_of(5, 14'000) == 3);
}

TEST_CASE("a leaky bucket of Gubernator holds its burst and drains limit / duration") {
  Counter counter(import_text("gubernator", "- {name: r, limit: 5, duration: 10000, burst: 2, algorithm: LEAKY_BUCKET}")
                      .policies[0]);
  CHECK(counter.admitted_of(5, 0) == 2);
  CHECK_FALSE(counter.admits(1'999));
  CHECK(counter.admits(2'000));
  CHECK(counter.admitted_of(5, 60'000) == 2);
}

TEST_CASE("a denied request for much leaves what is left for smaller ones") {
  Counter counter(import_text("gubernator", "- {name: r, limit: 100, duration: 10000}").policies[0]);
  CHECK_FALSE(counter.admits(0, 1000));
  CHECK(counter.admits(0, 100));
}

TEST_CASE("calendar intervals are windows of the clock or quotas") {
  const Made made = import_text("gubernator",
                                "- {name: m, limit: 1, duration: 0, behavior: DURATION_IS_GREGORIAN}\n"
                                "- {name: d, limit: 1, duration: 2, behavior: 4}\n");
  CHECK(made.policies[0].limits[0].algorithm == Algorithm::fixed_window);
  CHECK(made.policies[0].limits[0].align == Align::epoch);
  CHECK(made.policies[1].limits[0].period == Period::day);
  CHECK(made.notes_line("file:2", "takes UTC"));
}

TEST_CASE("behaviors without a counterpart are notes") {
  const Made made = import_text("gubernator",
                                "- name: r\n  limit: 1\n  duration: 1\n  behavior: [GLOBAL, DRAIN_OVER_LIMIT, "
                                "RESET_REMAINING, MULTI_REGION, NEW]\n  colour: red\n");
  for (const char* part : {"GLOBAL", "DRAIN_OVER_LIMIT", "RESET_REMAINING", "MULTI_REGION", "\"NEW\""}) {
    CHECK(made.notes_line("file:4", part));
  }
  CHECK(made.notes_line("file:5", "colour"));
  CHECK(import_text("gubernator", "- {name: r, limit: 1, duration: 1, behavior: NO_BATCHING}").notes.empty());
}

TEST_CASE("two limits of one key, and a key that would be a prefix, are faults") {
  const Made made = import_text(
      "gubernator",
      "- {name: r, unique_key: a, limit: 1, duration: 1}\n- {name: r, unique_key: a, limit: 2, duration: 1}\n");
  CHECK(made.faults_line("file:2", "has another limit on line 1"));
  CHECK(import_text("gubernator", "- {name: r, unique_key: a*, limit: 1, duration: 1}")
            .faults_line("file:1", "ends in *"));
  CHECK(import_text("gubernator", "- {name: r, limit: 1, duration: 1, algorithm: GCRA}")
            .faults_line("file:1", "TOKEN_BUCKET or LEAKY_BUCKET"));
}
