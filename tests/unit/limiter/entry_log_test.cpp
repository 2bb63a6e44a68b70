#include <doctest/doctest.h>

#include "common/limiter/algorithms/entry_log.hpp"

using namespace sluice::limiter;

namespace {

constexpr double kSecond = 1e6;

Terms log_of(double limit, double cost) { return {.kind = Kind::log, .cost = cost, .limit = limit, .p = 10 * kSecond}; }

Judged judge(EntryLog& log, double cost, double seconds, std::uint32_t id = 4) {
  return log.judge(log_of(5, cost), seconds * kSecond, id);
}

// Charges where it fits. Returns what is left.
double take(EntryLog& log, double cost, double seconds, std::uint32_t id = 4) {
  const bool fits = judge(log, cost, seconds, id).over <= 0;
  return log.charge(log_of(5, cost), seconds * kSecond, fits ? cost : 0).left;
}

}  // namespace

TEST_CASE("an entry counts for exactly one window") {
  EntryLog log;
  CHECK(take(log, 3, 100) == 2);
  CHECK(judge(log, 0, 109.999999).over == -2);
  CHECK(judge(log, 0, 110).over == -5);
}

TEST_CASE("a cost waits until enough entries have left") {
  EntryLog log;
  take(log, 1, 100);
  take(log, 2, 103);
  take(log, 2, 106);
  CHECK(judge(log, 1, 107).wait_us == 3 * kSecond);
  CHECK(judge(log, 2, 107).wait_us == 6 * kSecond);
  CHECK(judge(log, 4, 107).wait_us == 9 * kSecond);
  CHECK(judge(log, 5, 107).wait_us == 9 * kSecond);
}

TEST_CASE("judging changes nothing, and entries that left are dropped with the next charge") {
  EntryLog log;
  take(log, 5, 100);
  CHECK(judge(log, 0, 120).over == -5);
  CHECK(judge(log, 0, 105).over == 0);
  CHECK(take(log, 1, 120) == 4);
  CHECK(judge(log, 0, 105).over == -5);  // the first one is gone, the second one too far ahead
}

TEST_CASE("a new entry is never older than the last one, and its log lives one window from there") {
  EntryLog log;
  take(log, 1, 100);
  take(log, 1, 95);
  CHECK(judge(log, 4, 96).wait_us == 14 * kSecond);
  CHECK(judge(log, 5, 96).wait_us == 14 * kSecond);
  CHECK(log.expires_ms() == 110'000);
}

TEST_CASE("a log more than a window ahead counts as empty and stays empty when the clock comes near it") {
  EntryLog log;
  take(log, 5, 100);
  CHECK(judge(log, 1, 90).over == 1);
  CHECK(take(log, 0, 89) == 5);
  CHECK(take(log, 5, 95) == 0);
}

TEST_CASE("entries of another counter count nothing, and go with the first charge of this one") {
  EntryLog log;
  take(log, 5, 100, 4);
  CHECK(judge(log, 5, 101, 8).over == 0);
  CHECK(judge(log, 1, 101, 4).over == 1);
  CHECK(take(log, 2, 101, 8) == 3);
  CHECK(judge(log, 0, 101, 4).over == -5);
}
