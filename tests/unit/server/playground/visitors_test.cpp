#include "server/playground/visitors.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace sluice::server::playground;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kStart = 1'800'000'000'000'000;
constexpr std::int64_t kSecond = 1'000'000;

int admitted(Visitors& visitors, std::string_view address, int calls, std::int64_t now_us) {
  int passed = 0;
  for (int i = 0; i < calls; ++i) passed += visitors.charge(address, now_us).count() == 0 ? 1 : 0;
  return passed;
}

}  // namespace

TEST_CASE("An address gets a burst, then its rate, and is told how long to wait") {
  Visitors visitors;
  CHECK(admitted(visitors, "10.0.0.1", 200, kStart) == 100);
  CHECK(visitors.charge("10.0.0.1", kStart) == 1s);
  CHECK(admitted(visitors, "10.0.0.1", 200, kStart + kSecond) == 10);
  CHECK(admitted(visitors, "10.0.0.2", 1, kStart) == 1);
}

TEST_CASE("All addresses together have a bound, and a refused call uses nothing of it") {
  Visitors visitors;
  for (int i = 0; i < 5'000; ++i) visitors.charge("10.0.0.1", kStart);
  int passed = 100;
  for (int i = 0; i < 20; ++i) passed += admitted(visitors, "10.0.1." + std::to_string(i), 100, kStart);
  CHECK(passed == 1'000);
  CHECK(admitted(visitors, "10.0.2.1", 200, kStart + kSecond) == 100);
}

TEST_CASE("A clock that steps back gives no calls") {
  Visitors visitors;
  CHECK(admitted(visitors, "10.0.0.1", 100, kStart) == 100);
  CHECK(admitted(visitors, "10.0.0.1", 1, kStart - 3'600 * kSecond) == 0);
}

TEST_CASE("A network of IPv6 is one visitor, however the address is written") {
  CHECK(visitor_of("2001:db8::1") == visitor_of("2001:0db8:0:0:ffff::2"));
  CHECK(visitor_of("2001:db8::1") != visitor_of("2001:db8:0:1::1"));
  CHECK(visitor_of("::ffff:10.0.0.1") == visitor_of("10.0.0.1"));
}

TEST_CASE("However many addresses call, only so many are remembered") {
  Visitors visitors;
  for (int i = 0; i < 30'000; ++i) {
    visitors.charge(
        "10." + std::to_string(i / 65'536) + "." + std::to_string(i / 256 % 256) + "." + std::to_string(i % 256),
        kStart + i);
  }
  CHECK(visitors.addresses() <= Visitors::kAddresses);
}
