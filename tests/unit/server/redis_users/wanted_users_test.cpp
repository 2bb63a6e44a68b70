// Which Redis users the tokens and bindings need.
#include "server/redis_users/wanted_users.hpp"

#include <doctest/doctest.h>

#include <chrono>

#include "tests/unit/server/sync/state_writer.hpp"

namespace sluice::server::redis_users {
namespace {

using namespace std::chrono_literals;

struct World : test::StateWriter {
  void add(std::string id, std::string organization, std::vector<std::string> tenants, bool revoked = false,
           std::optional<WallTime> expires_at = std::nullopt) {
    auto tokens = std::make_shared<sync::AgentTokens>(*state.tokens);
    auto token = std::make_shared<sync::AgentToken>();
    token->caller = {.token_id = id, .organization_id = std::move(organization), .tenant_ids = std::move(tenants)};
    token->document.id = id;
    token->document.revoked = revoked;
    token->document.expires_at = expires_at;
    tokens->insert_or_assign(std::move(id), std::move(token));
    state.tokens = std::move(tokens);
  }
  std::string keys(const std::string& name, std::int64_t now_us = 0) const {
    const WantedUsers wanted = wanted_users(state, now_us);
    const auto found = wanted.by_name.find(name);
    return found == wanted.by_name.end() ? "no user" : found->second.keys;
  }
};

}  // namespace

TEST_CASE_FIXTURE(World, "a user reaches the counters of its token's tenants, and a wide one those of all") {
  add("shop", "acme", {"shop"});
  add("two", "acme", {"lab", "shop"});
  add("acme", "acme", {});
  add("all", "", {});
  CHECK(keys("sluice-agent-t-shop") == "~sl:{shop|*");
  CHECK(keys("sluice-agent-t-two") == "~sl:{lab|* ~sl:{shop|*");
  CHECK(keys("sluice-agent-t-acme") == "~sl:{*|*");
  CHECK(keys("sluice-agent-t-all") == "~sl:{*|*");
  std::vector<std::string> many;
  for (std::size_t i = 0; i <= kMaxTenantPatterns; ++i) many.push_back(fmt::format("t{:03}", i));
  add("many", "acme", many);
  CHECK(keys("sluice-agent-t-many") == "~sl:{*|*");
}

TEST_CASE_FIXTURE(World, "a tenant that moved to another organization is out of reach, and so is one that is gone") {
  add("two", "acme", {"lab", "shop"});
  give("lab", "globex");
  CHECK(keys("sluice-agent-t-two") == "~sl:{shop|*");
  give("shop", "globex");
  CHECK(keys("sluice-agent-t-two").empty());
  add("gone", "acme", {"never-was"});
  CHECK(keys("sluice-agent-t-gone").empty());
}

TEST_CASE_FIXTURE(World, "revoked and expired tokens have no user, and the next expiry is known") {
  add("revoked", "acme", {"shop"}, true);
  add("later", "acme", {"shop"}, false, WallTime(20s));
  add("soon", "acme", {"shop"}, false, WallTime(10s));
  CHECK(keys("sluice-agent-t-revoked") == "no user");
  CHECK(keys("sluice-agent-t-soon") == "~sl:{shop|*");
  CHECK(wanted_users(state, 0).expires_us == 10'000'000);
  CHECK(keys("sluice-agent-t-soon", 10'000'000) == "no user");
  CHECK(wanted_users(state, 10'000'000).expires_us == 20'000'000);
  CHECK_FALSE(wanted_users(state, 20'000'000).expires_us);
}

TEST_CASE_FIXTURE(World, "bindings have users, unless their document has faults") {
  auto bindings = std::make_shared<identity::Bindings>();
  bindings->add(
      {.id = "b", .namespace_ = "ns", .service_account = "*", .organization_id = "acme", .tenant_ids = {"lab"}});
  bindings->add({.id = "f", .namespace_ = "", .service_account = "*", .organization_id = "", .tenant_ids = {}});
  state.bindings = bindings;
  CHECK(keys("sluice-agent-b-b") == "~sl:{lab|*");
  CHECK(wanted_users(state, 0).by_name.size() == 1);
}

TEST_CASE_FIXTURE(World, "only tokens, bindings and owners of tenants make other users") {
  const sync::SyncState before = state;
  write("acme", test::policy_of("shop", "p"), "{}");
  CHECK(same_users(before, state));
  add("shop", "acme", {"shop"});
  CHECK_FALSE(same_users(before, state));
}

}  // namespace sluice::server::redis_users
