// What agents answer, added up, and what is said of what it lacks.
#include "server/admin/whatif_sum.hpp"

#include <doctest/doctest.h>

#include <string>

#include "server/admin/answers.hpp"

namespace sluice::server::admin {
namespace {

using sluice::sync::WhatIfAnswer;
using sluice::sync::WhatIfOutcome;
using sluice::sync::WhatIfStatus;

constexpr std::int64_t kMinute = sluice::sync::kMinuteUs;

WhatIfAnswer judged(std::int64_t minute, std::int64_t admitted, std::int64_t denied, std::string subject) {
  WhatIfAnswer answer;
  sluice::sync::WhatIfMinute& one = answer.minutes.emplace_back();
  one.begin_us = minute * kMinute;
  one.counts[WhatIfOutcome::admitted] = admitted;
  one.counts[WhatIfOutcome::denied] = denied;
  answer.subjects.push_back({.subject = std::move(subject), .admitted = admitted, .denied = denied});
  return answer;
}

std::string text_of(const WhatIfSum& sum) {
  json::Writer out = open_object();
  sum.write(out);
  out.end_object();
  return out.take();
}

bool has(const WhatIfSum& sum, std::string_view part) { return text_of(sum).find(part) != std::string::npos; }

TEST_CASE("answers of several agents are added by minute, and the foremost subjects come first") {
  WhatIfSum sum(5 * kMinute);
  const WhatIfAnswer first = judged(5, 3, 1, "a"), second = judged(5, 4, 2, "b"), third = judged(6, 0, 0, "c");
  for (const WhatIfAnswer* answer : {&first, &second, &third}) sum.add(answer);
  CHECK(sum.all_answered());
  CHECK(has(sum, R"("would_deny":3,"denied_share":0.3,)"));
  CHECK(has(sum, R"({"at":"1970-01-01T00:05:00Z","admitted":7,"denied":3,)"));
  CHECK(has(sum, R"("subjects":[{"subject":"b","admitted":4,"denied":2,"agents":1},{"subject":"a")"));
  CHECK(has(sum, R"("agents":{"asked":3,"judged":3,)"));
  CHECK(has(sum, R"("complete":true,"reasons":[])"));
}

TEST_CASE("a subject at two agents makes the answer incomplete") {
  WhatIfSum sum(0);
  const WhatIfAnswer one = judged(5, 3, 1, "a");
  sum.add(&one);
  sum.add(&one);
  CHECK(has(sum, R"("subjects":[{"subject":"a","admitted":6,"denied":2,"agents":2}])"));
  CHECK(has(sum, R"("complete":false,"reasons":[{"code":"subjects_of_several_agents")"));
}

TEST_CASE("whoever did not judge is counted and named, and silence is waited for") {
  WhatIfSum nobody(0);
  CHECK(nobody.all_answered());
  CHECK(has(nobody, R"("reasons":[{"code":"no_agents")"));
  CHECK(has(nobody, R"("complete_since":null)"));
  WhatIfSum sum(0);
  for (const WhatIfStatus status : {WhatIfStatus::no_recording, WhatIfStatus::not_recorded, WhatIfStatus::too_old}) {
    WhatIfAnswer answer;
    answer.status = status;
    sum.add(&answer);
  }
  WhatIfAnswer failed;
  failed.status = WhatIfStatus::failed;
  failed.text = "no memory";
  sum.add(&failed);
  CHECK(sum.all_answered());
  sum.add(nullptr);
  CHECK_FALSE(sum.all_answered());
  CHECK(has(sum,
            R"("agents":{"asked":5,"judged":0,"no_recording":1,"not_recorded":1,"failed":1,"too_old":1,"silent":1})"));
  for (const std::string_view code : {"silent", "no_recording", "not_recorded", "too_old", "failed"}) {
    CHECK(has(sum, std::string(R"({"code":")") + std::string(code)));
  }
  CHECK(has(sum, "could not judge: no memory"));
}

TEST_CASE("requests that fell out give their share, and a later beginning is told only without them") {
  WhatIfSum lost(0);
  WhatIfAnswer answer = judged(5, 3, 0, "a");
  answer.fallen = 1;
  answer.complete_since_us = kMinute;
  lost.add(&answer);
  CHECK(has(lost, R"("missing_share":0.25,"complete_since":"1970-01-01T00:01:00Z")"));
  CHECK(has(lost, R"("reasons":[{"code":"fallen_out")"));
  CHECK_FALSE(has(lost, "recorded_later"));
  WhatIfSum later(0);
  answer.fallen = 0;
  later.add(&answer);
  CHECK(has(later, R"("reasons":[{"code":"recorded_later")"));
  WhatIfSum early(kMinute);
  early.add(&answer);
  CHECK(has(early, R"("complete":true)"));
}

}  // namespace
}  // namespace sluice::server::admin
