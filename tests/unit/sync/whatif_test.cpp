// Questions of what-if and their answers, as they are on the wire.
#include "common/sync/whatif.hpp"

#include <doctest/doctest.h>

#include "common/sync/watch_line.hpp"

namespace sluice::sync {
namespace {

const WhatIfQuestion kQuestion{.id = "whatif-1",
                               .tenant_id = "shop",
                               .policy_id = "orders",
                               .policy = R"({"id":"orders","limits":[]})",
                               .from_us = 60'000'000,
                               .to_us = 120'000'000};

std::string first_pointer(std::string_view text) {
  const auto parsed = parse_answer(text);
  return parsed ? "none" : parsed.error().front().pointer;
}

TEST_CASE("a question survives being written on a watch and read") {
  std::string text = write_line(kQuestion);
  REQUIRE(text.ends_with('\n'));
  text.pop_back();
  const auto read = parse_watch_line(text);
  REQUIRE(read);
  CHECK(*read == WatchLine(kQuestion));
  CHECK_FALSE(parse_watch_line(R"({"whatif":{"id":"q","tenant_id":"Not An Id","policy_id":"p"}})"));
}

TEST_CASE("an answer survives being written and read") {
  WhatIfAnswer answer{.question_id = "whatif-1", .complete_since_us = 30'000'000, .fallen = 7, .short_of_memory = true};
  WhatIfMinute minute{.begin_us = kMinuteUs, .counts = {}};
  minute.counts[WhatIfOutcome::admitted] = 5;
  minute.counts[WhatIfOutcome::not_matched] = 4;
  minute.counts[WhatIfOutcome::denied] = 3;
  minute.counts.denied_before = 2;
  minute.counts.newly_denied = 1;
  CHECK(minute.counts.judged() == 8);
  answer.minutes = {minute, {.begin_us = 3 * kMinuteUs, .counts = minute.counts}};
  answer.subjects = {{.subject = "sha256:0123456789abcdef", .admitted = 5, .denied = 3}};
  const auto read = parse_answer(write_answer(answer));
  REQUIRE(read);
  CHECK(*read == answer);
  const WhatIfAnswer failed{.question_id = "q", .status = WhatIfStatus::failed, .text = "why"};
  CHECK(parse_answer(write_answer(failed)).value() == failed);
}

TEST_CASE("an answer with minutes out of order, unknown words or too many items is refused with its place") {
  CHECK(first_pointer(R"({"id":"q","status":"perhaps"})") == "/status");
  CHECK(first_pointer(R"({"id":"q","status":"judged","complete_since_us":1,"minutes":[{"at_us":1}]})") ==
        "/minutes/0/at_us");
  CHECK(first_pointer(R"({"id":"q","status":"judged","complete_since_us":1,
                          "minutes":[{"at_us":120000000},{"at_us":60000000}]})") == "/minutes/1/at_us");
  std::string many = R"({"id":"q","status":"judged","complete_since_us":1,"subjects":[)";
  for (std::size_t i = 0; i <= kMaxWhatIfSubjects; ++i) many += R"({"subject":"s"},)";
  many.back() = ']';
  CHECK(first_pointer(many + "}") == "/subjects");
}

}  // namespace
}  // namespace sluice::sync
