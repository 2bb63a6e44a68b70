#include <doctest/doctest.h>

#include "common/limiter/traits.hpp"

using namespace sluice::limiter;

namespace {

constexpr double kSecond = 1e6;

// Limit 10; a bucket leaks 1/s, a window lasts 60 s.
Terms terms_of(Kind kind, double cost) {
  Terms terms{.kind = kind, .cost = cost, .limit = 10};
  const bool bucket = traits_of(kind).judge == traits_of(Kind::token_bucket).judge;
  terms.p = bucket ? 1 : 60 * kSecond;
  terms.q = bucket ? kSecond : 1;
  return terms;
}

}  // namespace

TEST_CASE("a bucket refills with the time that passed and never beyond full") {
  const Terms terms = terms_of(Kind::token_bucket, 4);
  double values[2] = {8, 0};
  Judged judged = judge(terms, values, 101 * kSecond, 100 * kSecond);
  CHECK(values[0] == 7e6);  // in millionths now
  CHECK(judged.over == 1e6);
  CHECK(judged.wait_us == kSecond);
  values[0] = 8;
  judged = judge(terms, values, 200 * kSecond, 100 * kSecond);
  CHECK(values[0] == 0);
  CHECK(judged.over < 0);
}

TEST_CASE("a charged bucket is back in units, and its remaining rounds down, its reset up") {
  const Terms terms = terms_of(Kind::token_bucket, 3);
  double values[2] = {2.5, 0};
  judge(terms, values, 0, 0);
  const Charged charged = charge(terms, values, 0, 3, true);
  CHECK(values[0] == 5.5);
  CHECK(charged.left == 4);
  CHECK(charged.reset_us == 5.5 * kSecond);
  CHECK(charged.hold_us == 0);
}

TEST_CASE("what is spent survives the state to the last part of a unit, up to 2^51 parts") {
  for (const double q : {3.0, 7919.0, 1e6, 281474976710597.0, 1125899906842597.0}) {
    for (double spent = 2251799813685248; spent > 2251799813685148; --spent) {
      Terms terms{.kind = Kind::token_bucket, .cost = 0, .limit = 1, .p = 1, .q = q};
      double values[2] = {spent / q, 0};
      judge(terms, values, 0, 0);
      CHECK(values[0] == spent);
    }
  }
}

TEST_CASE("a leaky bucket holds a call back until what came before it has leaked") {
  const Terms terms = terms_of(Kind::leaky_bucket, 1);
  double values[2] = {2.25, 0};
  judge(terms, values, 0, 0);
  CHECK(charge(terms, values, 0, 1, true).hold_us == 2.25 * kSecond);
  judge(terms, values, 0, 0);
  CHECK(charge(terms, values, 0, 0, false).hold_us == 0);
}

TEST_CASE("a bucket with debt holds a call back until it is within capacity") {
  Terms terms = terms_of(Kind::bucket_with_debt, 4);
  terms.max_delay_us = 5 * kSecond;
  double values[2] = {9, 0};
  CHECK(judge(terms, values, 0, 0).over <= 0);
  const Charged charged = charge(terms, values, 0, 4, true);
  CHECK(charged.hold_us == 3 * kSecond);
  CHECK(charged.left == -3);
  CHECK(charged.reset_us == 13 * kSecond);
  CHECK(judge(terms, values, 0, 0).over == 2e6);
}

TEST_CASE("a fixed window forgets what was counted before its edge") {
  const Terms terms = terms_of(Kind::fixed_window, 3);
  double values[2] = {9, 0};
  Judged judged = judge(terms, values, 119 * kSecond, 60 * kSecond);
  CHECK(judged.over == 2);
  CHECK(judged.wait_us == kSecond);
  judged = judge(terms, values, 120 * kSecond, 60 * kSecond);
  CHECK(values[0] == 0);
  CHECK(judged.over < 0);
  CHECK(charge(terms, values, 120 * kSecond, 3, true).reset_us == 60 * kSecond);
}

TEST_CASE("a window from the first hit opens when something is counted, and starts now where its start lies ahead") {
  const Terms terms = terms_of(Kind::first_window, 1);
  double values[2] = {0, 0};
  judge(terms, values, 100 * kSecond, 0);
  CHECK(values[0] == 100 * kSecond);
  charge(terms, values, 100 * kSecond, 1, true);
  judge(terms, values, 159 * kSecond, 100 * kSecond);
  CHECK(values[1] == 1);
  judge(terms, values, 90 * kSecond, 90 * kSecond);
  CHECK(values[0] == 90 * kSecond);
  CHECK(values[1] == 1);
  judge(terms, values, 150 * kSecond, 90 * kSecond);
  CHECK(values[1] == 0);
}

TEST_CASE("a sliding window moves its counts on by one window, and drops them after two") {
  const Terms terms = terms_of(Kind::sliding_window, 1);
  double values[2] = {3, 7};
  judge(terms, values, 61 * kSecond, 59 * kSecond);
  CHECK(values[0] == 7);
  CHECK(values[1] == 0);
  values[0] = 3, values[1] = 7;
  judge(terms, values, 121 * kSecond, 59 * kSecond);
  CHECK(values[0] == 0);
  CHECK(values[1] == 0);
}

TEST_CASE("a sliding window's wait is to the tick") {
  Terms terms = terms_of(Kind::sliding_window, 1);
  double values[2] = {10, 0};
  Judged judged = judge(terms, values, 60 * kSecond, 60 * kSecond);
  CHECK(judged.wait_us == 6 * kSecond);
  values[0] = 0, values[1] = 10;  // only in the next window, when a tenth of this one has left it
  judged = judge(terms, values, 60 * kSecond, 60 * kSecond);
  CHECK(judged.wait_us == 66 * kSecond);
  CHECK(charge(terms, values, 60 * kSecond, 0, false).reset_us == 120 * kSecond);
}

TEST_CASE("a quota forgets what was counted before its period") {
  Terms terms = terms_of(Kind::quota, 2);
  terms.p = 100 * kSecond, terms.q = 200 * kSecond;
  double values[2] = {9, 0};
  Judged judged = judge(terms, values, 150 * kSecond, 100 * kSecond);
  CHECK(judged.over == 1);
  CHECK(judged.wait_us == 50 * kSecond);
  judge(terms, values, 150 * kSecond, 99 * kSecond);
  CHECK(values[0] == 0);
  CHECK(charge(terms, values, 150 * kSecond, 2, true).left == 8);
}

TEST_CASE("a cost above the limit never fits, above the limit and all the debt where debt is allowed") {
  CHECK_FALSE(never_fits(terms_of(Kind::token_bucket, 10)));
  CHECK(never_fits(terms_of(Kind::token_bucket, 11)));
  CHECK(never_fits(terms_of(Kind::log, 11)));
  Terms debt = terms_of(Kind::bucket_with_debt, 15);
  debt.max_delay_us = 5 * kSecond;
  CHECK_FALSE(never_fits(debt));
  debt.cost = 16;
  CHECK(never_fits(debt));
  Terms nothing = terms_of(Kind::bucket_with_debt, 1);
  nothing.limit = 0, nothing.max_delay_us = 5 * kSecond;
  CHECK(never_fits(nothing));
}

TEST_CASE("times of what was spent at another scale end at 2^53 us") {
  const Terms terms{.kind = Kind::leaky_bucket, .cost = 1, .limit = 10, .p = 1, .q = 1125899906842624};
  double values[2] = {1e15, 0};
  CHECK(judge(terms, values, 0, 0).wait_us == kExact);
  const Charged charged = charge(terms, values, 0, 0, true);
  CHECK(charged.reset_us == kExact);
  CHECK(charged.hold_us == kExact);
}
