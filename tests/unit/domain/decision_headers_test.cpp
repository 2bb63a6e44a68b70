#include <doctest/doctest.h>

#include <limits>

#include "tests/unit/domain/decision_samples.hpp"

using namespace sluice;
using namespace sluice::decision_tests;

namespace {

std::string headers(const Decision& d, HeaderFamilies families = {}) {
  std::string out;
  write_decision_headers(d, families, out);
  return out;
}

constexpr HeaderFamilies kNone{.x = false, .ietf = false, .draft6 = false};
constexpr HeaderFamilies kX{.x = true, .ietf = false, .draft6 = false};
constexpr HeaderFamilies kIetf{.x = false, .ietf = true, .draft6 = false};
constexpr HeaderFamilies kIetfNext{.x = false, .ietf = false, .ietf_next = true};
constexpr HeaderFamilies kDraft6{.x = false, .ietf = false, .draft6 = true};
constexpr HeaderFamilies kAll{.x = true, .ietf = true, .draft6 = true};

}  // namespace

TEST_CASE("X-RateLimit headers give limit, remaining and the reset in Unix seconds") {
  CHECK(headers(allowed(), kX) ==
        "X-RateLimit-Limit: 100\r\nX-RateLimit-Remaining: 42\r\nX-RateLimit-Reset: 1718654400\r\n");
}

TEST_CASE("the IETF fields name the limit, its quota and window, what is left and for how long") {
  CHECK(headers(allowed(), kIetf) ==
        "RateLimit-Policy: \"per_minute\";q=100;w=60\r\nRateLimit: \"per_minute\";r=42;t=18\r\n");
}

TEST_CASE("the IETF window is left out where a limit has none, and rounds up where it has a fraction") {
  Decision d = allowed();
  d.window_us = 0;
  CHECK(contains(headers(d, kIetf), "RateLimit-Policy: \"per_minute\";q=100\r\n"));
  d.window_us = 250'000;
  CHECK(contains(headers(d, kIetf), ";w=1\r\n"));
  d.window_us = 1'000'001;
  CHECK(contains(headers(d, kIetf), ";w=2\r\n"));
}

TEST_CASE("structured integers stay within 15 digits and never below 0") {
  Decision d = allowed();
  d.report.limit = kMaxLimit;  // 16 digits
  d.report.remaining = -5;
  d.report.reset_after_us = std::numeric_limits<std::int64_t>::max();
  CHECK(headers(d, kIetf) ==
        "RateLimit-Policy: \"per_minute\";q=999999999999999;w=60\r\nRateLimit: \"per_minute\";r=0;t=9223372036855\r\n");
  CHECK(contains(headers(d, kDraft6), "RateLimit-Limit: 999999999999999\r\nRateLimit-Remaining: 0\r\n"));
}

TEST_CASE("a limit's name is an sf-string: escaped, and unable to end the header") {
  Decision d = allowed();
  d.limit_name = "a\"b\\c\r\nX: \xC3\xA9\x7f";
  CHECK(headers(d, kIetf).starts_with("RateLimit-Policy: \"a\\\"b\\\\c??X: ???\";q=100;w=60\r\nRateLimit: \"a"));
}

TEST_CASE("draft 6 headers give delta seconds, rounded up") {
  CHECK(headers(allowed(), kDraft6) == "RateLimit-Limit: 100\r\nRateLimit-Remaining: 42\r\nRateLimit-Reset: 18\r\n");
  Decision d = allowed();
  d.report.reset_after_us = 18 * kSecond + 1;
  CHECK(contains(headers(d, kDraft6), "RateLimit-Reset: 19\r\n"));
}

TEST_CASE("the next revision of the draft says available, window, what was spent and what the counter is named by") {
  Decision d = allowed();
  const std::vector<DimensionRef> key_by{{Dimension::resource, ""}, {Dimension::tag, "env"}, {Dimension::tag, "Upper"}};
  const std::vector<DimensionRef> added{{Dimension::method, ""}};
  d.spent = 3;
  d.key_by = key_by;
  d.limit_key_by = added;
  CHECK(headers(d, kIetfNext) ==
        "RateLimit-Policy: \"per_minute\";q=100;w=60\r\nRateLimit: \"per_minute\";a=42;w=18;c=3\r\n"
        "RateLimit-Partition: \"per_minute\";resource;tag.env;method\r\n");
  d.key_by = d.limit_key_by = {};
  CHECK_FALSE(contains(headers(d, kIetfNext), "Partition"));
}

TEST_CASE("a policy decides which headers go out; a denial always says when to come again") {
  constexpr HeaderFamilies kAllFamilies{.x = true, .ietf = true, .draft6 = true, .retry_after = true};
  Decision d = allowed();
  d.expose = Expose::remaining;
  CHECK(headers(d, kAllFamilies) ==
        "X-RateLimit-Remaining: 42\r\nRateLimit: \"per_minute\";r=42\r\nRateLimit-Remaining: 42\r\n");
  CHECK(headers(d, kIetfNext) == "RateLimit: \"per_minute\";a=42\r\n");
  d.expose = Expose::none;
  CHECK(headers(d, kAllFamilies).empty());
  Decision refused = denied(kSecond);
  refused.expose = Expose::none;
  CHECK(headers(refused, kAllFamilies) == "Retry-After: 1\r\n");
}

TEST_CASE("by default the X and the IETF families go out, and the chosen ones together") {
  const std::string both = headers(allowed());
  CHECK(both == headers(allowed(), kX) + headers(allowed(), kIetf));
  CHECK(headers(allowed(), {.x = true, .ietf = true, .draft6 = true}) == both + headers(allowed(), kDraft6));
  CHECK(headers(allowed(), kNone).empty());
}

TEST_CASE("Retry-After is in whole seconds, rounded up, at least 1") {
  CHECK(headers(denied(1), kNone) == "Retry-After: 1\r\n");
  CHECK(headers(denied(kSecond), kNone) == "Retry-After: 1\r\n");
  CHECK(headers(denied(kSecond + 1), kNone) == "Retry-After: 2\r\n");
  CHECK(headers(denied(0), kNone) == "Retry-After: 1\r\n");
}

TEST_CASE("Retry-After is left out where the call can never pass; the limit headers stay") {
  CHECK_FALSE(contains(headers(denied(kNever)), "Retry-After"));
  CHECK(contains(headers(denied(kNever)), "X-RateLimit-Limit: 100\r\n"));
}

TEST_CASE("Retry-After never comes with an allowed call") {
  CHECK_FALSE(contains(headers(allowed()), "Retry-After"));
  Decision sampled = denied(5 * kSecond);
  sampled.allowed = true;
  CHECK_FALSE(contains(headers(sampled), "Retry-After"));
}

TEST_CASE("a 503 carries Retry-After though no limit is behind it") {
  for (const Reason reason : {Reason::fail_closed, Reason::overload, Reason::no_snapshot}) {
    CHECK(headers(plain(false, reason)) == "Retry-After: 1\r\n");
  }
}

TEST_CASE("without a limit there are no headers: no policy, mode off, fail open, default deny") {
  CHECK(headers(plain(true, Reason::no_policy), kAll).empty());
  CHECK(headers(plain(true, Reason::mode_off), kAll).empty());
  CHECK(headers(plain(true, Reason::fail_open), kAll).empty());
  CHECK(headers(plain(false, Reason::no_policy), kAll).empty());
}

TEST_CASE("every header line ends in CRLF, behind what is there") {
  std::string out = "Date: x\r\n";
  write_decision_headers(denied(1), kAll, out);
  CHECK(out.starts_with("Date: x\r\nX-RateLimit-Limit: 100\r\n"));
  CHECK(out.ends_with("Retry-After: 1\r\n"));
  CHECK_FALSE(contains(out, "\r\n\r\n"));
}

TEST_CASE("a 503 names the same wait in the body and in the header") {
  for (const Reason reason : {Reason::fail_closed, Reason::overload, Reason::no_snapshot}) {
    std::string body;
    write_decision(plain(false, reason), body);
    CHECK(contains(body, R"("retry_after_ms":1000,)"));
    CHECK(headers(plain(false, reason)) == "Retry-After: 1\r\n");
  }
}

TEST_CASE("with retry-after, 200 says when the request would be within the limit") {
  const HeaderFamilies families{.x = false, .ietf = false, .draft6 = false, .retry_after = true};
  CHECK(headers(allowed(), families) == "Retry-After: 0\r\n");
  Decision passed = denied(1'500'000);
  passed.allowed = true;
  CHECK(headers(passed, families) == "Retry-After: 2\r\n");
  passed.report.retry_after_us = kNever;
  CHECK(headers(passed, families).empty());
  Decision delayed = allowed();
  delayed.report.delay_us = 1;
  CHECK(headers(delayed, families) == "Retry-After: 1\r\n");
  CHECK(headers(denied(1), families) == "Retry-After: 1\r\n");
  CHECK(headers(plain(true, Reason::fail_open), families).empty());
}
