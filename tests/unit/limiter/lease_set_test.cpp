#include <doctest/doctest.h>

#include "common/limiter/algorithms/lease_set.hpp"

using namespace sluice::limiter;

namespace {

constexpr double kSecond = 1e6;

Terms terms_of(double cost) { return {.kind = Kind::lease, .cost = cost, .limit = 5, .p = 10 * kSecond}; }

std::string member_of(const char* name, double weight) {
  std::string draw(name);
  draw.resize(16, '.');
  return lease_member(draw, weight, 10 * kSecond);
}

Judged judge(LeaseSet& set, double cost, double seconds) { return set.judge(terms_of(cost), seconds * kSecond); }

// What is left after it.
double take(LeaseSet& set, const char* name, double weight, double seconds) {
  judge(set, weight, seconds);
  return set.charge(terms_of(weight), seconds * kSecond, weight, member_of(name, weight)).left;
}

}  // namespace

TEST_CASE("a lease's name holds its weight and its time to live") {
  const std::string member = member_of("a", 3);
  CHECK(member.size() == kLeaseMemberSize);
  CHECK(lease_weight(member) == 3);
  CHECK(lease_ttl_us(member) == 10 * kSecond);
}

TEST_CASE("a lease lives until the microsecond of its expiry") {
  LeaseSet set;
  CHECK(take(set, "a", 3, 100) == 2);
  CHECK(judge(set, 0, 109.999999).over == -2);
  CHECK(judge(set, 0, 110).over == -5);
  CHECK_FALSE(set.release(member_of("a", 3), 110 * kSecond));
}

TEST_CASE("a cost waits until enough leases have expired") {
  LeaseSet set;
  take(set, "a", 2, 100);
  take(set, "b", 1, 103);
  take(set, "c", 2, 104);
  CHECK(judge(set, 1, 105).wait_us == 5 * kSecond);
  CHECK(judge(set, 3, 105).wait_us == 8 * kSecond);
  CHECK(judge(set, 4, 105).wait_us == 9 * kSecond);
  CHECK(judge(set, 3, 110.5).wait_us == 2.5 * kSecond);  // the first is dead already
}

TEST_CASE("a released lease gives its weight back, once") {
  LeaseSet set;
  take(set, "a", 2, 100);
  take(set, "b", 3, 100);
  CHECK(set.release(member_of("a", 2), 101 * kSecond));
  CHECK_FALSE(set.release(member_of("a", 2), 101 * kSecond));
  CHECK(judge(set, 0, 101).over == -2);
  CHECK(set.release(member_of("b", 3), 101 * kSecond));
  CHECK(set.empty());
}

TEST_CASE("a renewed lease has its time to live anew, a dead one stays dead") {
  LeaseSet set;
  take(set, "a", 1, 100);
  CHECK(set.renew(member_of("a", 1), 105 * kSecond) == 115 * kSecond);
  CHECK(set.expires_ms() == 115'000);
  CHECK(judge(set, 0, 114).over == -4);
  CHECK(set.renew(member_of("a", 1), 115 * kSecond) == 0);
  CHECK(set.renew(member_of("b", 1), 105 * kSecond) == 0);
}

TEST_CASE("leases more than twice their time to live ahead are dead, and the call that finds them removes them") {
  LeaseSet set;
  take(set, "a", 1, 100);
  take(set, "b", 1, 109);               // expires at 119
  CHECK(judge(set, 0, 90).over == -4);  // the horizon is 110: only the first one counts
  CHECK(set.charge(terms_of(0), 90 * kSecond, 0, "").left == 4);
  CHECK(judge(set, 0, 105).over == -4);
  CHECK(set.expires_ms() == 110'000);
  judge(set, 0, 80);
  set.charge(terms_of(0), 80 * kSecond, 0, "");
  CHECK(set.empty());
}
