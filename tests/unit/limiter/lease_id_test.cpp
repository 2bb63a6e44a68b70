#include "common/limiter/lease_id.hpp"

#include <doctest/doctest.h>

#include "common/base/crypto.hpp"
#include "common/limiter/algorithms/lease_set.hpp"

namespace sluice::limiter {
namespace {

LeaseRef lease_of(std::string key) { return {std::move(key), "running", lease_member("0123456789abcdef", 3, 60e6)}; }

TEST_CASE("a lease id gives back what it was made of") {
  std::vector<LeaseRef> leases{lease_of("sl:{shop|subject=job%3A7}:p=jobs"), lease_of("sl:{shop|}:l=pool:k=running|x")};
  auto id = decode_lease_id(encode_lease_id("shop", leases));
  REQUIRE(id);
  CHECK(id->tenant == "shop");
  REQUIRE(id->leases.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(id->leases[i].counter_key == leases[i].counter_key);
    CHECK(id->leases[i].limit_name == leases[i].limit_name);
    CHECK(id->leases[i].member == leases[i].member);
  }
  CHECK(lease_weight(id->leases[0].member) == 3);
  CHECK(lease_ttl_us(id->leases[0].member) == 60e6);
}

TEST_CASE("a lease id that was cut, lengthened or changed in form is none") {
  std::string text = encode_lease_id("shop", std::vector{lease_of("sl:{shop|}:p=jobs")});
  for (std::size_t size = 0; size < text.size(); ++size) CHECK_FALSE(decode_lease_id(text.substr(0, size)));
  CHECK_FALSE(decode_lease_id(text + "AAAA"));
  CHECK_FALSE(decode_lease_id(text + "="));
  CHECK_FALSE(decode_lease_id("not a lease"));
  CHECK_FALSE(decode_lease_id(std::string(kMaxLeaseId + 1, 'A')));
}

TEST_CASE("a lease id cannot name a key outside its tenant's") {
  auto forged = [](std::string_view tenant, std::string_view rest, std::string_view limit) {
    Bytes bytes{1};
    auto put = [&](std::string_view part) {
      bytes.push_back(0);
      bytes.push_back(static_cast<std::uint8_t>(part.size()));
      bytes.insert(bytes.end(), part.begin(), part.end());
    };
    put(tenant);
    bytes.push_back(1);
    put(rest);
    put(limit);
    put(lease_member("0123456789abcdef", 1, 1e6));
    return decode_lease_id(to_base64url(bytes));
  };
  REQUIRE(forged("shop", "}:p=jobs", "running"));
  CHECK(forged("shop", "}:p=jobs", "running")->leases[0].counter_key == "sl:{shop|}:p=jobs");
  CHECK_FALSE(forged("sh|op", "}:p=jobs", "running"));
  CHECK_FALSE(forged("", "}:p=jobs", "running"));
  CHECK_FALSE(forged("shop", "p=jobs", "running"));
  CHECK_FALSE(forged("shop", "}\r\n:p=jobs", "running"));
  CHECK_FALSE(forged("shop", "{rival}:p=jobs", "running"));
  CHECK_FALSE(forged("shop", "}:p=jobs", "run ning"));
  CHECK_FALSE(forged("shop", "}:p=jobs", ""));
}

}  // namespace
}  // namespace sluice::limiter
