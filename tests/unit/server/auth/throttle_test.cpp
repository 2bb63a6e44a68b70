#include "server/auth/throttle.hpp"

#include <doctest/doctest.h>

#include <string>

namespace sluice::server {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kNow = 1'700'000'000 * kSecond;
constexpr int kBurst = static_cast<int>(auth::FailureThrottle::kBurst);

void exhaust(auth::FailureThrottle& throttle, std::string_view source, std::int64_t now_us) {
  for (int i = 0; i < kBurst; ++i) CHECK(throttle.failed(source, now_us) == seconds(0));
}

}  // namespace

TEST_CASE("a source may fail so often at once, and is then told how long to wait") {
  auth::FailureThrottle throttle;
  exhaust(throttle, "192.0.2.1", kNow);
  CHECK(throttle.failed("192.0.2.1", kNow) == seconds(1));
  CHECK(throttle.failed("192.0.2.1", kNow + kSecond / 2) == seconds(1));
  CHECK(throttle.throttled() == 2);
  CHECK(throttle.failed("192.0.2.1", kNow + kSecond) == seconds(0));  // one has come back
  CHECK(throttle.failed("192.0.2.1", kNow + kSecond) == seconds(1));
  CHECK(throttle.throttled() == 3);
}

TEST_CASE("a source is suspect while its next failure would be answered 429, and asking does not count") {
  auth::FailureThrottle throttle;
  CHECK_FALSE(throttle.is_suspect("192.0.2.1", kNow));
  exhaust(throttle, "192.0.2.1", kNow);
  CHECK(throttle.is_suspect("192.0.2.1", kNow));
  CHECK(throttle.is_suspect("192.0.2.1", kNow + kSecond / 2));
  CHECK_FALSE(throttle.is_suspect("192.0.2.1", kNow + kSecond));
  CHECK_FALSE(throttle.is_suspect("192.0.2.2", kNow));
  CHECK(throttle.throttled() == 0);
}

TEST_CASE("a source that has calmed down may fail as often as at first, and no more often") {
  auth::FailureThrottle throttle;
  exhaust(throttle, "192.0.2.1", kNow);
  const std::int64_t later = kNow + 3600 * kSecond;
  exhaust(throttle, "192.0.2.1", later);
  CHECK(throttle.failed("192.0.2.1", later) > seconds(0));
}

TEST_CASE("one source's failures are not another's") {
  auth::FailureThrottle throttle;
  exhaust(throttle, "192.0.2.1", kNow);
  CHECK(throttle.failed("192.0.2.1", kNow) > seconds(0));
  CHECK(throttle.failed("192.0.2.2", kNow) == seconds(0));
}

TEST_CASE("a clock that is set back gives nothing back, and makes nobody wait for the time it lost") {
  auth::FailureThrottle throttle;
  exhaust(throttle, "192.0.2.1", kNow);
  const std::int64_t earlier = kNow - 3600 * kSecond;
  CHECK(throttle.failed("192.0.2.1", earlier) == seconds(1));
  CHECK(throttle.failed("192.0.2.1", earlier + kSecond) == seconds(0));
}

TEST_CASE("there is room for a new source, however many there were") {
  auth::FailureThrottle throttle;
  for (std::size_t i = 0; i < auth::FailureThrottle::kSources; ++i) throttle.failed("old-" + std::to_string(i), kNow);
  // All of them have calmed down, and are forgotten.
  exhaust(throttle, "192.0.2.1", kNow + 2 * kSecond);
  CHECK(throttle.failed("192.0.2.1", kNow + 2 * kSecond) > seconds(0));
}

TEST_CASE("a crowd of sources that all fail goes on being counted within the same memory") {
  auth::FailureThrottle throttle;
  for (std::size_t i = 0; i < 2 * auth::FailureThrottle::kSources; ++i)
    throttle.failed("source-" + std::to_string(i), kNow);
  const std::int64_t later = kNow + kSecond;  // when there are fewer failures in total again
  exhaust(throttle, "192.0.2.1", later);
  CHECK(throttle.failed("192.0.2.1", later) > seconds(0));
}

TEST_CASE("a crowd of sources that all fail is throttled in total, and nobody longer than it lasts") {
  auth::FailureThrottle throttle;
  constexpr auto kMost = static_cast<std::size_t>(auth::FailureThrottle::kTotalBurst);
  for (std::size_t i = 0; i < kMost; ++i) CHECK(throttle.failed("source-" + std::to_string(i), kNow) == seconds(0));
  CHECK(throttle.failed("192.0.2.1", kNow) == seconds(1));
  CHECK(throttle.throttled() == 1);
  CHECK_FALSE(throttle.is_suspect("192.0.2.1", kNow));
  const std::int64_t later = kNow + kSecond;
  for (int i = 0; i < static_cast<int>(auth::FailureThrottle::kTotalPerSecond); ++i)
    CHECK(throttle.failed("later-" + std::to_string(i), later) == seconds(0));
  CHECK(throttle.failed("192.0.2.2", later) == seconds(1));
}

}  // namespace sluice::server
