#include <doctest/doctest.h>

#include "tests/unit/objects/bundle_helpers.hpp"

using namespace std::chrono_literals;
using namespace sluice;
using namespace sluice::test;

TEST_CASE("a duration may be text in several forms, or a number of seconds") {
  for (const char* window : {"\"60s\"", "\"1 minute\"", "\"60\"", "60", "6e1", "\"60 s\"", "\"1m\""}) {
    CAPTURE(window);
    CHECK(limit_of(R"({"algorithm":"fixed","limit":1,"window":)" + std::string(window) + "}").window == 1min);
  }
}

TEST_CASE("each algorithm is read from its canonical form") {
  const Limit token =
      limit_of(R"({"name":"burst","algorithm":"token_bucket","capacity":100,"refill":"7/3s","unit":"tokens"})");
  CHECK(token.name == "burst");
  CHECK(token.algorithm == Algorithm::token_bucket);
  CHECK(token.unit == "tokens");
  CHECK(token.limit == 100);
  CHECK(token.rate == Rate{7, 3'000'000});

  const Limit leaky = limit_of(R"({"algorithm":"leaky_bucket","capacity":5,"leak":"1/s"})");
  CHECK(leaky.algorithm == Algorithm::leaky_bucket);
  CHECK(leaky.limit == 5);
  CHECK(leaky.rate == Rate{1, 1'000'000});
  CHECK(leaky.unit == "requests");

  const Limit fixed = limit_of(R"({"algorithm":"fixed_window","limit":10,"window":"1m","align":"first"})");
  CHECK(fixed.algorithm == Algorithm::fixed_window);
  CHECK(fixed.limit == 10);
  CHECK(fixed.window == 1min);
  CHECK(fixed.align == Align::first);

  const Limit sliding = limit_of(R"({"algorithm":"sliding_window","limit":10,"window":"30s"})");
  CHECK(sliding.algorithm == Algorithm::sliding_window);
  CHECK(sliding.window == 30s);
  CHECK(sliding.align == Align::epoch);

  const Limit log = limit_of(R"({"algorithm":"sliding_window_log","limit":10000,"window":"1h"})");
  CHECK(log.algorithm == Algorithm::sliding_window_log);
  CHECK(log.limit == 10'000);

  const Limit lease = limit_of(R"({"algorithm":"concurrency","limit":4,"lease_ttl":"30s"})");
  CHECK(lease.algorithm == Algorithm::concurrency);
  CHECK(lease.lease_ttl == 30s);

  const Limit quota =
      limit_of(R"({"algorithm":"quota","limit":1000000,"period":"month","anchor":"2027-03-31T02:00:00+02:00"})");
  CHECK(quota.algorithm == Algorithm::quota);
  CHECK(quota.period == Period::month);
  CHECK(quota.anchor == instant(1'806'451'200));
}

TEST_CASE("algorithms go by their short names too, under algorithm or strategy") {
  const auto algorithm = [](std::string_view name, std::string_view numbers) {
    return limit_of(R"({"strategy":")" + std::string(name) + R"(",)" + std::string(numbers) + "}").algorithm;
  };
  CHECK(algorithm("token", R"("capacity":1,"refill":"1/s")") == Algorithm::token_bucket);
  CHECK(algorithm("bucket", R"("capacity":1,"refill":"1/s")") == Algorithm::token_bucket);
  CHECK(algorithm("token-bucket", R"("capacity":1,"refill":"1/s")") == Algorithm::token_bucket);
  CHECK(algorithm("leaky", R"("capacity":1,"leak":"1/s")") == Algorithm::leaky_bucket);
  CHECK(algorithm("fixed", R"("limit":1,"window":"1s")") == Algorithm::fixed_window);
  CHECK(algorithm("sliding", R"("limit":1,"window":"1s")") == Algorithm::sliding_window);
  CHECK(algorithm("log", R"("limit":1,"window":"1s")") == Algorithm::sliding_window_log);
  CHECK(algorithm("sliding_log", R"("limit":1,"window":"1s")") == Algorithm::sliding_window_log);
  CHECK(algorithm("concurrent", R"("limit":1,"lease_ttl":"1s")") == Algorithm::concurrency);
}

TEST_CASE("limit and window without an algorithm are a token bucket of that capacity and pace") {
  const Limit limit = limit_of(R"({"limit":100,"window":"10s"})");
  CHECK(limit.algorithm == Algorithm::token_bucket);
  CHECK(limit.limit == 100);
  CHECK(limit.rate == Rate{1, 100'000});
  CHECK(limit.window == 0us);  // only in the rate: the canonical form of a bucket has none
  CHECK(limit_of(R"({"algorithm":"leaky","limit":100,"window":"10s"})").rate == Rate{1, 100'000});
}

TEST_CASE("rate without an algorithm is a token bucket whose capacity is the number as written") {
  const Limit limit = limit_of(R"({"rate":"10/minute"})");
  CHECK(limit.algorithm == Algorithm::token_bucket);
  CHECK(limit.limit == 10);
  CHECK(limit.rate == Rate{1, 6'000'000});
  CHECK(limit_of(R"({"rate":"10/minute","capacity":25})").limit == 25);
}

TEST_CASE("rate says limit and window of a window") {
  const Limit limit = limit_of(R"({"algorithm":"fixed","rate":"10/minute"})");
  CHECK(limit.limit == 10);
  CHECK(limit.window == 60s);
  check_limit_fault(R"({"algorithm":"fixed","rate":"10/minute","limit":5})", "/limit", "already said by rate");
  check_limit_fault(R"({"algorithm":"fixed","rate":"10/367d"})", "/rate", "366d");
  check_limit_fault(R"({"algorithm":"log","rate":"10001/m"})", "/rate", "at most 10000");
}

TEST_CASE("the rate of a bucket has several names and is read exactly") {
  CHECK(limit_of(R"({"capacity":9,"refill_per_sec":20})").rate == Rate{1, 50'000});
  CHECK(limit_of(R"({"capacity":9,"refill_per_sec":0.333333})").rate == Rate{333'333, 1'000'000'000'000});
  CHECK(limit_of(R"({"bucket_capacity":9,"refill_rate_per_sec":2.5})").rate == Rate{1, 400'000});
  CHECK(limit_of(R"({"bucket_capacity":9,"refill_rate_per_sec":2.5})").limit == 9);
  CHECK(limit_of(R"({"algorithm":"leaky","capacity":9,"leak_per_sec":1e-3})").rate == Rate{1, 1'000'000'000});
  CHECK(limit_of(R"({"algorithm":"leaky","capacity":9,"rate":"3/s"})").rate == Rate{3, 1'000'000});
}

TEST_CASE("fields that only one algorithm has decide for it") {
  CHECK(limit_of(R"({"capacity":1,"leak":"1/s"})").algorithm == Algorithm::leaky_bucket);
  CHECK(limit_of(R"({"limit":1,"lease_ttl":"1s"})").algorithm == Algorithm::concurrency);
  CHECK(limit_of(R"({"limit":1,"period":"day"})").algorithm == Algorithm::quota);
  check_limit_fault(R"({"limit":1})", "/algorithm", "algorithm is missing");
  check_limit_fault(R"({"algorithm":"sieve","limit":1})", "/algorithm", "sliding_window_log");
}

TEST_CASE("gcra is a token bucket whose capacity is its burst") {
  const Limit limit = limit_of(R"({"algorithm":"gcra","rate":"10/1s","burst":20})");
  CHECK(limit.algorithm == Algorithm::token_bucket);
  CHECK(limit.rate == Rate{1, 100'000});
  CHECK(limit.limit == 20);
  CHECK(limit_of(R"({"strategy":"gcra","rate":"10/1s"})").limit == 10);  // without burst: the rate's count
  CHECK(limit_of(R"({"algorithm":"gcra","rate":"10/1s","burst":0})").limit == 0);
}

TEST_CASE("gcra takes a rate and a burst, and says what to write for other numbers") {
  check_limit_fault(R"({"algorithm":"gcra","burst":20})", "/rate", "rate is missing");
  check_limit_fault(R"({"algorithm":"gcra","rate":"10/1s","capacity":20})", "/capacity",
                    "does not belong to gcra, only to token_bucket, leaky_bucket: write it as burst");
  check_limit_fault(R"({"algorithm":"gcra","rate":"10/1s","limit":20})", "/limit", "write it as burst");
  check_limit_fault(R"({"algorithm":"gcra","rate":"10/1s","window":"1s"})", "/window", "remove it");
  check_limit_fault(R"({"algorithm":"gcra","rate":"10/1s","burst":-1})", "/burst", "");
  check_limit_fault(R"({"algorithm":"gcra","rate":"1/366d","burst":1125899906842624})", "/burst", "too large");
  check_limit_fault(R"({"rate":"10/1s","burst":20})", "/burst",
                    "does not belong to token_bucket, only to gcra: write it as capacity");
}

TEST_CASE("a field of another algorithm is a fault that names both") {
  check_limit_fault(R"({"algorithm":"fixed","limit":1,"window":"1s","capacity":1})", "/capacity",
                    "does not belong to fixed_window, only to token_bucket, leaky_bucket");
  check_limit_fault(R"({"algorithm":"quota","limit":1,"period":"day","window":"1d"})", "/window", "to quota");
  check_limit_fault(R"({"algorithm":"sliding","limit":1,"window":"1s","align":"first"})", "/align",
                    "only to fixed_window");
  check_limit_fault(R"({"algorithm":"token","capacity":1,"refill":"1/s","leak":"1/s"})", "/leak", "leaky_bucket");
  check_limit_fault(R"({"algorithm":"concurrency","limit":1,"lease_ttl":"1s","rate":"1/s"})", "/rate", "concurrency");
  check_limit_fault(R"({"algorithm":"token","capacity":1,"refill":"1/s","limit":1})", "/limit", "write it as capacity");
  check_limit_fault(R"({"algorithm":"token","capacity":1,"refill":"1/s","window":"1s"})", "/window", "remove it");
}

TEST_CASE("the same said twice is a fault at the second") {
  check_limit_fault(R"({"algorithm":"token","strategy":"token","capacity":1,"refill":"1/s"})", "/strategy", "keep one");
  check_limit_fault(R"({"capacity":1,"bucket_capacity":1,"refill":"1/s"})", "/bucket_capacity", "keep one");
  check_limit_fault(R"({"capacity":1,"refill":"1/s","refill_per_sec":1})", "/refill_per_sec", "keep one");
}

TEST_CASE("what is missing is named with what it is for") {
  check_limit_fault(R"({"algorithm":"token","refill":"1/s"})", "/capacity", "capacity is missing");
  check_limit_fault(R"({"algorithm":"token","capacity":1})", "/refill", "refill is missing");
  check_limit_fault(R"({"algorithm":"leaky","capacity":1})", "/leak", "leak is missing");
  check_limit_fault(R"({"algorithm":"token","limit":1})", "/window", "window is missing");
  check_limit_fault(R"({"algorithm":"fixed","window":"1s"})", "/limit", "limit is missing");
  check_limit_fault(R"({"algorithm":"fixed","limit":1})", "/window", "window is missing");
  check_limit_fault(R"({"algorithm":"concurrency","limit":1})", "/lease_ttl", "lease_ttl is missing");
  check_limit_fault(R"({"algorithm":"quota","limit":1})", "/period", "period is missing");
  check_limit_fault(R"({"algorithm":"quota","limit":1,"period":null})", "/period", "period is missing");
}

TEST_CASE("numbers are whole, in range and without quotes; times have units") {
  check_limit_fault(R"({"limit":"100","window":"10s"})", "/limit", "not a string");
  check_limit_fault(R"({"limit":1.5,"window":"10s"})", "/limit", "whole number");
  check_limit_fault(R"({"limit":-1,"window":"10s"})", "/limit", "from 0 to 1125899906842624");
  check_limit_fault(R"({"algorithm":"quota","period":"day","limit":1125899906842625})", "/limit", "1125899906842624");
  check_limit_fault(R"({"algorithm":"quota","period":"day","limit":99999999999999999999})", "/limit", "whole number");
  check_limit_fault(R"({"limit":100,"window":true})", "/window", "\"10s\"");
  check_limit_fault(R"({"limit":100,"window":1.5})", "/window", "a duration is");
  check_limit_fault(R"({"limit":100,"window":-60})", "/window", "a duration is");
  check_limit_fault(R"({"limit":100,"window":"soon"})", "/window", "a duration is");
  check_limit_fault(R"({"limit":100,"window":"999us"})", "/window", "from 1ms to 366d");
  check_limit_fault(R"({"limit":100,"window":"367d"})", "/window", "from 1ms to 366d");
  check_limit_fault(R"({"limit":1,"lease_ttl":"31d"})", "/lease_ttl", "from 1ms to 30d");
  check_limit_fault(R"({"rate":10})", "/rate", "in quotes");
  check_limit_fault(R"({"rate":"fast"})", "/rate", "10/minute");
  check_limit_fault(R"({"capacity":1,"refill_per_sec":"1"})", "/refill_per_sec", "must be a number");
  check_limit_fault(R"({"capacity":1,"refill_per_sec":0})", "/refill_per_sec", "above zero");
  check_limit_fault(R"({"limit":1,"period":"fortnight"})", "/period", "week");
  check_limit_fault(R"({"limit":1,"period":"day","anchor":"yesterday"})", "/anchor", "RFC 3339");
  CHECK(limit_of(R"({"limit":1e2,"window":"10s"})").limit == 100);
  CHECK(limit_of(R"({"limit":100.0,"window":"10s"})").limit == 100);
}

TEST_CASE("a limit of 0 is accepted and still has a rate") {
  const Limit limit = limit_of(R"({"limit":0,"window":"10s"})");
  CHECK(limit.limit == 0);
  CHECK(limit.rate == Rate{1, 10'000'000});
  CHECK(limit_of(R"({"algorithm":"fixed","limit":0,"window":"10s"})").limit == 0);
}

TEST_CASE("a bucket that cannot be counted exactly is refused with the way out") {
  // 2^50 / 10^6, as 1/s is one unit in 1,000,000 µs
  CHECK(limit_of(R"({"capacity":1125899906,"refill":"1/s"})").limit == 1'125'899'906);
  check_limit_fault(R"({"capacity":1125899907,"refill":"1/s"})", "/capacity", "lower the capacity to 1125899906");
  check_limit_fault(R"({"capacity":2000,"refill_per_sec":0.333333})", "/capacity", "\"1/3s\"");
  CHECK(limit_of(R"({"capacity":2000,"refill":"1/3s"})").limit == 2000);
  CHECK(limit_of(R"({"capacity":1125,"refill_per_sec":0.333333})").limit == 1125);
  check_limit_fault(R"({"bucket_capacity":1126,"refill_per_sec":0.333333})", "/bucket_capacity", "2^50");
  CHECK(limit_of(R"({"capacity":1125899906842624,"refill":"1000000/s"})").limit == kMaxLimit);
  check_limit_fault(R"({"limit":1000000007,"window":"366d"})", "/limit", "2^50");
}

TEST_CASE("a sliding counter whose limit times window is large needs whole milliseconds or seconds") {
  const auto sliding = [](std::string_view limit, std::string_view window) {
    return R"({"algorithm":"sliding","limit":)" + std::string(limit) + R"(,"window":")" + std::string(window) + "\"}";
  };
  CHECK(limit_of(sliding("9007190247", "1000001us")).window == 1'000'001us);  // 2^53 / 1,000,001, rounded down
  check_limit_fault(sliding("9007190248", "1000001us"), "/window", "whole milliseconds");
  CHECK(limit_of(sliding("9007199255", "1001ms")).window == 1001ms);
  CHECK(limit_of(sliding("9007199254740", "1s")).window == 1s);
  check_limit_fault(sliding("9007199254740", "1001ms"), "/window", "whole seconds");
  CHECK(limit_of(sliding("1125899906842624", "8s")).limit == kMaxLimit);
  check_limit_fault(sliding("1125899906842624", "9s"), "/limit", "lower the limit to 1000799917193443");
}

TEST_CASE("a log and leases hold at most 10,000 entries") {
  check_limit_fault(R"({"algorithm":"log","limit":10001,"window":"1s"})", "/limit", "sliding_window for more");
  check_limit_fault(R"({"limit":10001,"lease_ttl":"1s"})", "/limit", "at most 10000");
  CHECK(limit_of(R"({"limit":10000,"lease_ttl":"30d"})").limit == 10'000);
}

TEST_CASE("a limit without a name gets its algorithm's, made unique") {
  const Bundle bundle = parsed(plan_with(R"({"rate":"1/s"},{"rate":"2/s"},{"rate":"3/s","name":"token_bucket-2"},
      {"limit":1,"period":"day"},{"rate":"4/s"})"));
  const auto& limits = bundle.plans[0].limits;
  REQUIRE(limits.size() == 5);
  CHECK(limits[0].name == "token_bucket");
  CHECK(limits[1].name == "token_bucket-3");  // -2 was taken by hand
  CHECK(limits[2].name == "token_bucket-2");
  CHECK(limits[3].name == "quota");
  CHECK(limits[4].name == "token_bucket-4");
}

TEST_CASE("names of limits are unique and have a shape; so have units") {
  check_only_fault(plan_with(R"({"name":"a","rate":"1/s"},{"name":"a","rate":"1/s"})"), "/plans/0/limits/1/name",
                   "names two limits");
  check_limit_fault(R"({"name":"Per Minute","rate":"1/s"})", "/name", "a-z 0-9");
  check_limit_fault(R"({"name":"","rate":"1/s"})", "/name", "1 to 63");
  check_limit_fault(R"({"name":"-a","rate":"1/s"})", "/name", "starting with");
  check_limit_fault(R"({"name":")" + std::string(64, 'a') + R"(","rate":"1/s"})", "/name", "63");
  CHECK(limit_of(R"({"name":"_per.minute-1","rate":"1/s"})").name == "_per.minute-1");
  check_limit_fault(R"({"unit":"GB!","rate":"1/s"})", "/unit", "a-z 0-9");
}

TEST_CASE("a plan has 1 to 16 limits") {
  std::string limits = R"({"rate":"1/s"})";
  for (int i = 1; i < 16; ++i) limits += R"(,{"rate":"1/s"})";
  CHECK(parsed(plan_with(limits)).plans[0].limits.size() == 16);
  check_only_fault(plan_with(limits + R"(,{"rate":"1/s"})"), "/plans/0/limits", "1 to 16 limits, not 17");
  check_only_fault(plan_with(""), "/plans/0/limits", "not 0");
  check_only_fault(shop(R"("plans":[{"id":"p"}])"), "/plans/0/limits", "limits is missing");
  check_only_fault(shop(R"("plans":[{"id":"p","limits":{"rate":"1/s"}}])"), "/plans/0/limits", "must be a list");
}

TEST_CASE("a limit's key_by is one dimension or a list, sorted and without duplicates") {
  CHECK(limit_of(R"({"rate":"1/s","key_by":"user"})").key_by == std::vector<DimensionRef>{{Dimension::user, ""}});
  CHECK(limit_of(R"({"rate":"1/s","key_by":["tag.env","subject","user","subject"]})").key_by ==
        std::vector<DimensionRef>{{Dimension::user, ""}, {Dimension::subject, ""}, {Dimension::tag, "env"}});
  check_limit_fault(R"({"rate":"1/s","key_by":["usr"]})", "/key_by/0", "is not a dimension");
  check_limit_fault(R"({"rate":"1/s","key_by":["user",7]})", "/key_by/1", "not a number");
}

TEST_CASE("a limit in another limiter's words is answered with what to write, and with nothing else") {
  const auto fix = [](std::string_view limit, std::string_view pointer, std::string_view words) {
    check_limit_fault(limit, pointer, words);
  };
  fix(R"({"minute":5})", "/minute", R"(write "algorithm":"fixed_window","rate":"5/minute")");
  fix(R"({"second":"x"})", "/second", R"("rate":"10/second")");
  fix(R"({"month":1000})", "/month", R"(write "algorithm":"quota","limit":1000,"period":"month")");
  fix(R"({"unit":"hour","requests_per_unit":7})", "/requests_per_unit", R"("rate":"7/hour" for it and its unit)");
  fix(R"({"rate_limit":{"unit":"DAY","requests_per_unit":7}})", "/rate_limit", R"("rate":"7/day"; an agent takes)");
  fix(R"({"rate_limit":"7/day"})", "/rate_limit", "write it as rate");
  fix(R"({"limit":5,"duration":60000})", "/duration", R"(such as "window":"1m")");
  check_only_fault(shop(R"("policies":[{"id":"p","minute":5}])"), "/policies/0/minute", R"("rate":"5/minute")");
}

TEST_CASE("a misspelt field is answered with the nearest one") {
  check_limit_fault(R"({"limit":1,"window":"1s","windw":"2s"})", "/windw", "did you mean \"window\"?");
  check_limit_fault(R"({"rate":"1/s","colour":"red"})", "/colour", "remove it");
}
