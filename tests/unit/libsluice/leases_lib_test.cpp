// Leases of a concurrency limit, as objects and by their ids.
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "tests/unit/libsluice/engine_rig.hpp"

namespace sluice {
namespace {

using v1::Code;

std::string places(int limit) {
  return bundle_of(fmt::format(R"({{"name":"places","algorithm":"concurrency","limit":{},"lease_ttl":"10s"}})", limit));
}

TEST_CASE("a lease gives its place back at the end of its object") {
  EngineRig rig(places(1));
  {
    CHECK(rig.check(kOrders).allowed);
    CHECK_FALSE(rig.decision.lease_id.empty());
    CHECK(rig.decision.lease_expires_us == rig.now_us + 10'000'000);
    const v1::Lease lease = rig.engine->lease(kOrders, rig.decision);
    CHECK(lease);
    CHECK(lease.id() == rig.decision.lease_id);
    CHECK_FALSE(rig.check(kOrders).allowed);
    CHECK(rig.decision.lease_id.empty());
    CHECK_FALSE(rig.engine->lease(kOrders, rig.decision));
  }
  CHECK(rig.check(kOrders).allowed);
}

TEST_CASE("a lease that is moved, released or detached is given back once") {
  EngineRig rig(places(2));
  rig.check(kOrders);
  v1::Lease first = rig.engine->lease(kOrders, rig.decision);
  rig.check(kOrders);
  v1::Lease second = rig.engine->lease(kOrders, rig.decision);
  CHECK_FALSE(rig.check(kOrders).allowed);
  first = std::move(second);  // gives the first one back
  CHECK(first);
  CHECK_FALSE(second);  // NOLINT(bugprone-use-after-move): that is what is tested
  CHECK(rig.check(kOrders).allowed);
  CHECK_FALSE(rig.check(kOrders).allowed);
  CHECK(first.release().ok());
  CHECK(first.release().ok());
  CHECK(rig.check(kOrders).allowed);
  v1::Lease third = rig.engine->lease(kOrders, rig.decision);
  const std::string id = third.detach();
  CHECK_FALSE(third);
  CHECK(third.renew().code == Code::unknown_lease);
  CHECK(third.renew().message == "lease: this object has none: it is new, moved from, released or detached");
  CHECK_FALSE(rig.check(kOrders).allowed);
  CHECK(rig.engine->release("shop", id).ok());
  CHECK(rig.check(kOrders).allowed);
}

TEST_CASE("a lease lives on while it is renewed") {
  EngineRig rig(places(1));
  rig.check(kOrders);
  v1::Lease lease = rig.engine->lease(kOrders, rig.decision);
  rig.now_us += 9'000'000;
  CHECK(lease.renew().ok());
  std::int64_t expires_us = 0;
  CHECK(rig.engine->renew("", lease.id(), &expires_us).ok());
  CHECK(expires_us == rig.now_us + 10'000'000);
  rig.now_us += 9'000'000;
  CHECK_FALSE(rig.check(kOrders).allowed);
  rig.now_us += 2'000'000;
  CHECK(rig.check(kOrders).allowed);
  CHECK(lease.renew().code == Code::unknown_lease);
  CHECK(rig.engine->release("", lease.id()).ok());  // its place is free already
}

TEST_CASE("only its tenant gives a lease back") {
  const std::string bundle = places(1);
  EngineRig rig(std::string(bundle).insert(bundle.find("{\"id\":\"shop\"}"), "{\"id\":\"bank\"},"));
  v1::Request request = kOrders;
  request.tenant = "shop";
  rig.check(request);
  const v1::Lease lease = rig.engine->lease(request, rig.decision);
  CHECK(rig.engine->release("bank", lease.id()).code == Code::unknown_lease);
  CHECK(rig.engine->release("shop", "nonsense").code == Code::unknown_lease);
  CHECK(rig.engine->release("none", lease.id()).code == Code::unknown_tenant);
  CHECK_FALSE(rig.check(request).allowed);
}

TEST_CASE("without a tenant, a lease is given back to the tenant that it is of") {
  const std::string bundle = places(1);
  const std::string two = std::string(bundle).insert(bundle.find("{\"id\":\"shop\"}"), "{\"id\":\"bank\"},");
  EngineRig rig(two);
  v1::Request request = kOrders;
  request.tenant = "shop";
  const std::string id = rig.check(request).lease_id;
  CHECK(rig.engine->renew("", id).ok());
  CHECK(rig.engine->release({}, "nonsense").code == Code::unknown_lease);
  CHECK_FALSE(rig.check(request).allowed);
  CHECK(rig.engine->release({}, id).ok());
  CHECK(rig.check(request).allowed);
  // Unless the options say whose requests without a tenant are.
  EngineRig of_bank(two, {.tenant = "bank"});
  CHECK(of_bank.engine->release({}, id).code == Code::unknown_lease);
}

TEST_CASE("whoever waits for a lease gets it soon after it is given back") {
  const auto engine = open_engine({.bundle = places(1)});
  v1::Decision decision;
  engine->check(kOrders, decision);
  std::optional<v1::Lease> lease(engine->lease(kOrders, decision));
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    lease.reset();
  });
  const auto began = std::chrono::steady_clock::now();
  engine->wait(kOrders, std::chrono::seconds(9), decision);
  other.join();
  CHECK(decision.allowed);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(8));
}

}  // namespace
}  // namespace sluice
