#include "server/auth/token_uses.hpp"

#include <doctest/doctest.h>

namespace sluice::server::auth {
namespace {

constexpr std::int64_t kNow = 1'900'000'000'000'000;
constexpr std::int64_t kSecond = 1'000'000;

TEST_CASE("a use of a token is due once a minute") {
  TokenUses uses;
  CHECK(uses.is_due("a", kNow));
  CHECK_FALSE(uses.is_due("a", kNow));
  CHECK(uses.is_due("b", kNow));
  CHECK_FALSE(uses.is_due("a", kNow + 59 * kSecond));
  CHECK(uses.is_due("a", kNow + 60 * kSecond));
  CHECK_FALSE(uses.is_due("a", kNow + 61 * kSecond));
}

TEST_CASE("after the clock was set back a use is due again") {
  TokenUses uses;
  CHECK(uses.is_due("a", kNow));
  CHECK(uses.is_due("a", kNow - 1));
  CHECK_FALSE(uses.is_due("a", kNow));
}

}  // namespace
}  // namespace sluice::server::auth
