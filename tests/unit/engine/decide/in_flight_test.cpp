// Shares of the places in flight.
#include "engine/decide/in_flight.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace sluice::decide {
namespace {

using Claim = InFlight::Claim;
using Places = std::vector<InFlight::Place>;

constexpr std::size_t kLimit = 80;  // the last 10 places are for tenants below their share, the 10 before it for keys

std::uint64_t hash_of(std::uint64_t number) { return number * 0xd6e8feb86659fd93; }

InFlight::Caller caller(std::uint64_t tenant, std::uint64_t key = 0) {
  return {.tenant = hash_of(tenant), .key = hash_of(100 + key)};
}

// Takes places until one is refused, and returns why.
std::optional<Claim> fill(InFlight& in_flight, Places& places, const InFlight::Caller& by) {
  for (;;) {
    auto place = in_flight.enter();
    if (!place) return std::nullopt;
    if (const Claim claim = place->claim(by); claim != Claim::granted) return claim;
    places.push_back(std::move(*place));
  }
}

struct Rig {
  InFlight in_flight{kLimit};
  Places noisy;
  Places quiet;
};

}  // namespace

TEST_CASE("a key borrows idle places, all but the last quarter") {
  Rig rig;
  CHECK(fill(rig.in_flight, rig.noisy, caller(1)) == Claim::key_share);
  CHECK(rig.noisy.size() == kLimit * 3 / 4);
  CHECK(rig.in_flight.count() == rig.noisy.size());  // what was refused left its place
}

TEST_CASE("a tenant with many keys borrows all but the last eighth") {
  Rig rig;
  for (std::uint64_t key = 0; key < 8; ++key) fill(rig.in_flight, rig.noisy, caller(1, key));
  CHECK(rig.noisy.size() == kLimit * 7 / 8);
}

TEST_CASE("whoever comes later has places at once, up to the limit") {
  Rig rig;
  for (std::uint64_t key = 0; key < 8; ++key) fill(rig.in_flight, rig.noisy, caller(1, key));
  CHECK_FALSE(fill(rig.in_flight, rig.quiet, caller(2)));  // stopped by the limit, not by a share
  CHECK(rig.quiet.size() == kLimit / 8);
}

TEST_CASE("places that become free go to whoever has less than a share, until the shares are equal") {
  Rig rig;
  for (std::uint64_t key = 0; key < 8; ++key) fill(rig.in_flight, rig.noisy, caller(1, key));
  for (int round = 0; round < 200; ++round) {
    if (!rig.noisy.empty()) rig.noisy.pop_back();
    for (std::uint64_t key = 0; key < 8; ++key) fill(rig.in_flight, rig.noisy, caller(1, key));
    for (std::uint64_t key = 0; key < 8; ++key) fill(rig.in_flight, rig.quiet, caller(2, key));
  }
  CHECK(rig.quiet.size() == kLimit / 2);
  CHECK(rig.noisy.size() == kLimit / 2);
}

TEST_CASE("a second key of the tenant has places while the first floods") {
  Rig rig;
  fill(rig.in_flight, rig.noisy, caller(1, 1));
  fill(rig.in_flight, rig.quiet, caller(1, 2));
  CHECK(rig.quiet.size() == kLimit / 8);  // the last eighth is for other tenants
}

TEST_CASE("who is alone has all places") {
  for (const bool only_key : {true, false}) {
    CAPTURE(only_key);
    Rig rig;
    InFlight::Caller alone = caller(1);
    alone.only_tenant = true;
    alone.only_key = only_key;
    fill(rig.in_flight, rig.noisy, alone);
    CHECK(rig.noisy.size() == (only_key ? kLimit : kLimit * 3 / 4));
  }
}

TEST_CASE("the only key of a tenant has what the tenant has") {
  Rig rig;
  InFlight::Caller only = caller(1);
  only.only_key = true;
  CHECK(fill(rig.in_flight, rig.noisy, only) == Claim::tenant_share);
  CHECK(rig.noisy.size() == kLimit * 7 / 8);
}

TEST_CASE("few places have no shares") {
  InFlight in_flight(4);
  Places places;
  CHECK_FALSE(fill(in_flight, places, caller(1)));
  CHECK(places.size() == 4);
}

TEST_CASE("every place that was left is free again, also when threads take turns") {
  Rig rig;
  auto work = [&](std::uint64_t tenant) {
    for (int i = 0; i < 20'000; ++i) {
      auto place = rig.in_flight.enter();
      if (place) place->claim(caller(tenant, static_cast<std::uint64_t>(i) % 3));
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t tenant = 0; tenant < 4; ++tenant) threads.emplace_back(work, tenant / 2);
  }
  CHECK(rig.in_flight.count() == 0);
  CHECK(fill(rig.in_flight, rig.noisy, caller(7)) == Claim::key_share);
  CHECK(rig.noisy.size() == kLimit * 3 / 4);  // no tenant and no key is still counted
}

}  // namespace sluice::decide
