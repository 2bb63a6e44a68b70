// How random keys become shares of tenants.
#include "server/counters/tenant_shares.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace sluice::server {
namespace {

using counters::NodeSample;
using counters::TenantShare;

TEST_CASE("a counter key names its tenant, and other keys name none") {
  CHECK(counters::tenant_of("sl:{shop|subject=ann}:p=orders") == "shop");
  CHECK(counters::tenant_of("sl:{a.b-2|}:l=plan:k=burst") == "a.b-2");
  for (const char* const other : {"", "sl:{", "sl:{shop", "sl:{marker}", "sl:{marker:3}", "sl:{|x}", "sl:{A b|x}",
                                  "xsl:{shop|x}", "SL:{shop|x}"}) {
    CAPTURE(other);
    CHECK_FALSE(counters::tenant_of(other));
  }
  CHECK_FALSE(counters::tenant_of("sl:{" + std::string(64, 'a') + "|x}"));
}

TEST_CASE("a share is that of the bytes, and keys and bytes are those of all of Redis") {
  const NodeSample node{.keys = 1'000, .sampled = {{"shop", 100}, {"shop", 100}, {"bank", 300}, {"", 500}}};
  const auto shares = counters::estimate_shares({&node, 1}, 10);
  REQUIRE(shares.size() == 3);
  CHECK(shares[0].tenant == "bank");
  CHECK(shares[0].share == doctest::Approx(0.3));
  CHECK(shares[0].keys == doctest::Approx(250));
  CHECK(shares[0].bytes == doctest::Approx(75'000));
  CHECK(shares[1].tenant == "shop");
  CHECK(shares[1].keys == doctest::Approx(500));
  CHECK(shares[2].tenant.empty());
  CHECK(shares[2].share == doctest::Approx(0.5));
}

TEST_CASE("a node with many keys weighs more than one with few") {
  const std::vector<NodeSample> nodes{{.keys = 900, .sampled = {{"shop", 10}, {"shop", 10}}},
                                      {.keys = 100, .sampled = {{"bank", 10}}},
                                      {.keys = 0, .sampled = {}}};
  const auto shares = counters::estimate_shares(nodes, 10);
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].tenant == "shop");
  CHECK(shares[0].share == doctest::Approx(0.9));
}

TEST_CASE("only the foremost tenants are named, and the rest is one") {
  NodeSample node{.keys = 15, .sampled = {}};
  for (int tenant = 1; tenant <= 15; ++tenant) node.sampled.push_back({"t" + std::to_string(tenant), tenant});
  const auto shares = counters::estimate_shares({&node, 1}, 10);
  REQUIRE(shares.size() == 11);
  CHECK(shares[0].tenant == "t15");
  CHECK(shares[9].tenant == "t6");
  CHECK(shares[10].tenant.empty());
  CHECK(shares[10].share == doctest::Approx(15.0 / 120));
  double sum = 0;
  for (const TenantShare& share : shares) sum += share.share;
  CHECK(sum == doctest::Approx(1));
}

TEST_CASE("without keys there are no shares") {
  CHECK(counters::estimate_shares({}, 10).empty());
  const NodeSample empty;
  CHECK(counters::estimate_shares({&empty, 1}, 10).empty());
  const NodeSample expired{.keys = 3, .sampled = {}};
  CHECK(counters::estimate_shares({&expired, 1}, 10).empty());
}

TEST_CASE("the margin covers the truth about 95 times in 100, and stays below 6 %") {
  // 60 % of the keys are small ones of one tenant, 40 % are three times as large: the true share is 1/3.
  std::mt19937 random(7);
  std::bernoulli_distribution small(0.6);
  int covered = 0;
  constexpr int kRuns = 500;
  for (int run = 0; run < kRuns; ++run) {
    NodeSample node{.keys = 1'000'000, .sampled = {}};
    for (int i = 0; i < 400; ++i) {
      if (small(random)) {
        node.sampled.push_back({"small", 100});
      } else {
        node.sampled.push_back({"large", 300});
      }
    }
    const auto shares = counters::estimate_shares({&node, 1}, 10);
    REQUIRE(shares[0].tenant == "large");
    CHECK(shares[0].margin < 0.06);
    if (std::abs(shares[0].share - 2.0 / 3) <= shares[0].margin) ++covered;
  }
  CHECK(covered > 0.92 * kRuns);
  CHECK(covered < 0.98 * kRuns);
}

TEST_CASE("a tenant that has all sampled keys may still not have all keys") {
  NodeSample node{.keys = 1'000, .sampled = {}};
  for (int i = 0; i < 300; ++i) node.sampled.push_back({"shop", 100});
  const auto shares = counters::estimate_shares({&node, 1}, 10);
  REQUIRE(shares.size() == 1);
  CHECK(shares[0].margin == doctest::Approx(0.01));
}

}  // namespace
}  // namespace sluice::server
