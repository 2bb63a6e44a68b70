// What an admin call costs before it takes a thread of the pool. The test plays the look-up.
#include "server/admin/caller_gate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "server/admin/route_match.hpp"

namespace sluice::server {
namespace {

struct GateRig {
  GateRig() {
    call.route = admin::find_route("GET", "/v1/admin/plans").route;
    learn({});
  }

  // The tokens with these texts are in memory from now on.
  void learn(const std::vector<std::string>& texts, const auth::TokenDocument& document = {}) {
    auto tokens = std::make_shared<auth::KnownTokens>();
    for (const std::string& text : texts) {
      const auto key = *split_key(text, CredentialKind::admin_token);
      tokens->emplace(key.id, std::make_shared<const auth::KnownToken>(auth::KnownToken{
                                  .document = document, .hash = *parse_key_hash(hash_secret(key.secret))}));
    }
    gate.set_tokens(std::move(tokens), std::make_shared<const auth::KnownQuotas>(quotas));
  }
  // Returns the status, 200 if the call may go on, 0 if there is no answer.
  unsigned check(const std::string& text, bool charged = false) {
    call.authorization = "Bearer " + text;
    call.source = "192.0.2.1";
    unsigned status = 0;
    gate.check(call, charged,
               [&status](const std::optional<http::Refusal>& refusal) { status = refusal ? refusal->status : 200; });
    loop.restart();
    loop.run();
    return status;
  }

  // As check(), for a call with the session that this cookie's secret opens.
  unsigned check_session(const std::string& secret) {
    call.session = {.secret = secret, .hash = sessions::hash_of(secret)};
    const unsigned status = check("");
    call.session = {};
    return status;
  }
  // PostgreSQL has a session of this token from now on. Returns the cookie's secret.
  std::string start_session(const std::string& token_id, std::int64_t expires_in_us = 3'600'000'000) {
    const std::string secret = sessions::make_secret();
    read_sessions = [=, hash = sessions::hash_of(secret), expires = clock.now_us() + expires_in_us](
                        const auto& wanted) -> std::optional<std::vector<sessions::Session>> {
      if (std::ranges::find(wanted, hash) == wanted.end()) return std::vector<sessions::Session>();
      return std::vector{sessions::Session{.hash = hash, .token_id = token_id, .expires_at_us = expires}};
    };
    return secret;
  }

  auth::KnownQuotas quotas;  // in memory from the next learn() on
  SystemClock clock;
  auth::FailureThrottle throttle;
  boost::asio::io_context loop;
  std::function<bool()> read = [] { return true; };
  int reads = 0;
  int session_reads = 0;
  std::function<std::optional<std::vector<sessions::Session>>(const std::vector<std::string>&)> read_sessions =
      [](const auto&) { return std::vector<sessions::Session>(); };
  auth::TokenLookups lookups{loop, [this](const auth::TokenLookups::Done& done) {
                               ++reads;
                               done(read());
                             }};
  admin::TokenRates rates{{.writes = 5, .reads = 5}, clock};
  sessions::KnownSessions sessions{
      loop,
      [this](std::vector<std::string> hashes, const sessions::KnownSessions::Found& found) {
        ++session_reads;
        found(read_sessions(hashes));
      },
      clock};
  admin::CallerGate gate{lookups, sessions, throttle, rates, clock};
  admin::Call call;
};

TEST_CASE("a token in memory costs no look-up, and neither does one with a wrong secret") {
  GateRig rig;
  const std::string text = mint_key("token-a", CredentialKind::admin_token);
  rig.learn({text});
  CHECK(rig.check(text) == 200);
  CHECK(rig.check(mint_key("token-a", CredentialKind::admin_token)) == 401);
  CHECK(rig.check("nonsense") == 401);
  CHECK(rig.reads == 0);
}

TEST_CASE("a token in x-api-key is missing, and the answer says where the admin API looks") {
  GateRig rig;
  const auto says = [&rig](CredentialFault fault, std::string_view text) {
    const auto refusal = admin::unauthorized(rig.throttle, rig.call, fault, rig.clock.now_us());
    return refusal.detail.find(text) != std::string::npos;
  };
  CHECK_FALSE(says(CredentialFault::missing, "x-api-key"));
  rig.call.has_api_key = true;
  CHECK(says(CredentialFault::missing, "x-api-key, which is for checks"));
  CHECK_FALSE(says(CredentialFault::unknown, "x-api-key"));
}

TEST_CASE("an unknown token is looked up once a second, and one that is new is found") {
  GateRig rig;
  const std::string unknown = mint_key("token-x", CredentialKind::admin_token);
  CHECK(rig.check(unknown) == 401);
  CHECK(rig.check(unknown) == 401);
  CHECK(rig.reads == 1);
  const std::string fresh = mint_key("token-y", CredentialKind::admin_token);
  rig.read = [&] {
    rig.learn({fresh});
    return true;
  };
  CHECK(rig.check(fresh) == 200);
  CHECK(rig.reads == 2);
}

TEST_CASE("an unknown token is not called invalid while PostgreSQL cannot be read") {
  GateRig rig;
  rig.read = [] { return false; };
  const std::string unknown = mint_key("token-x", CredentialKind::admin_token);
  CHECK(rig.check(unknown) == 503);
  rig.read = [] { return true; };
  CHECK(rig.check(unknown) == 401);  // the failed look-up is not remembered
  CHECK(rig.reads == 2);
}

TEST_CASE("who fails too often gets 429, and a valid token from there is accepted") {
  GateRig rig;
  const std::string text = mint_key("token-a", CredentialKind::admin_token);
  rig.learn({text});
  for (int i = 0; i < static_cast<int>(auth::FailureThrottle::kBurst); ++i) CHECK(rig.check("nonsense") == 401);
  CHECK(rig.check("nonsense") == 429);
  CHECK(rig.check(text) == 200);
}

TEST_CASE("a token's calls are counted, once each") {
  GateRig rig;
  const std::string text = mint_key("token-a", CredentialKind::admin_token);
  rig.learn({text});
  for (int i = 0; i < 5; ++i) CHECK(rig.check(text) == 200);
  CHECK(rig.check(text) == 429);
  CHECK(rig.check(text, true) == 200);  // counted when the server asked whether to read the body
  CHECK(rig.check("nonsense") == 401);
}

TEST_CASE("a token is held to the quota of its one tenant, else to that of its organization") {
  GateRig rig;
  const std::string shop = mint_key("token-a", CredentialKind::admin_token);
  const std::string both = mint_key("token-b", CredentialKind::admin_token);
  const auto of_acme = [](std::vector<std::string> tenant_ids) {
    auth::TokenDocument document;
    document.organization_id = "acme";
    document.tenant_ids = std::move(tenant_ids);
    return document;
  };
  const auto passed = [&rig](const std::string& text) {
    int count = 0;
    while (rig.check(text) == 200) ++count;
    return count;
  };
  rig.quotas.set("", "acme", R"({"admin_reads_per_second":3,"admin_writes_per_second":90})");
  rig.quotas.set("shop", "shop", R"({"admin_reads_per_second":2,"a_quota_of_later_versions":1})");
  rig.learn({shop}, of_acme({"shop"}));
  CHECK(passed(shop) == 2);
  rig.learn({both}, of_acme({"shop", "till"}));
  CHECK(passed(both) == 3);
  const std::string platform = mint_key("token-c", CredentialKind::admin_token);
  rig.learn({platform});
  CHECK(passed(platform) == 5);
  rig.quotas.erase("shop", "shop");
  const std::string later = mint_key("token-d", CredentialKind::admin_token);
  rig.learn({later}, of_acme({"shop"}));
  CHECK(passed(later) == 3);
}

TEST_CASE("a session is looked up once, and opens what its token opens as long as it lasts") {
  GateRig rig;
  rig.learn({mint_key("token-a", CredentialKind::admin_token)});
  const std::string secret = rig.start_session("token-a");
  CHECK(rig.check_session(secret) == 200);
  CHECK(rig.check_session(secret) == 200);
  CHECK(rig.session_reads == 1);
  CHECK(rig.reads == 0);
  CHECK(rig.check_session(rig.start_session("token-a", -1)) == 401);
}

TEST_CASE("a session ends in memory as soon as its token does") {
  GateRig rig;
  const std::string text = mint_key("token-a", CredentialKind::admin_token);
  rig.learn({text});
  const std::string secret = rig.start_session("token-a");
  CHECK(rig.check_session(secret) == 200);
  auth::TokenDocument revoked;
  revoked.revoked = true;
  rig.learn({text}, revoked);
  CHECK(rig.check_session(secret) == 401);
  rig.learn({});  // removed
  CHECK(rig.check_session(secret) == 401);
}

TEST_CASE("an invented session costs one look-up a second, and counts as a failed authentication") {
  GateRig rig;
  const std::string invented = sessions::make_secret();
  for (int i = 0; i < static_cast<int>(auth::FailureThrottle::kBurst); ++i) CHECK(rig.check_session(invented) == 401);
  CHECK(rig.session_reads == 1);
  CHECK(rig.check_session(invented) == 429);
}

TEST_CASE("a session is not called ended while PostgreSQL cannot be read") {
  GateRig rig;
  rig.learn({mint_key("token-a", CredentialKind::admin_token)});
  rig.read_sessions = [](const auto&) { return std::nullopt; };
  const std::string secret = sessions::make_secret();
  CHECK(rig.check_session(secret) == 503);
  CHECK(rig.check_session(rig.start_session("token-a")) == 200);
}

TEST_CASE("calls by session count as their token's") {
  GateRig rig;
  const std::string text = mint_key("token-a", CredentialKind::admin_token);
  rig.learn({text});
  const std::string secret = rig.start_session("token-a");
  for (int i = 0; i < 3; ++i) CHECK(rig.check_session(secret) == 200);
  for (int i = 0; i < 2; ++i) CHECK(rig.check(text) == 200);
  CHECK(rig.check_session(secret) == 429);
}

TEST_CASE("a person's session needs no token, ends by its time, and all calls of the person count together") {
  GateRig rig;
  rig.learn({});
  const std::string one = sessions::make_secret();
  const std::string two = sessions::make_secret();
  const std::string ended = sessions::make_secret();
  rig.read_sessions = [&](const auto& wanted) -> std::optional<std::vector<sessions::Session>> {
    std::vector<sessions::Session> found;
    for (const auto& [secret, seconds] : {std::pair(one, 3'600), std::pair(two, 3'600), std::pair(ended, -1)}) {
      const std::string hash = sessions::hash_of(secret);
      if (std::ranges::find(wanted, hash) == wanted.end()) continue;
      found.push_back({.hash = hash,
                       .token_id = {},
                       .expires_at_us = rig.clock.now_us() + seconds * std::int64_t{1'000'000},
                       .subject = "ada"});
    }
    return found;
  };
  CHECK(rig.check_session(ended) == 401);
  for (int i = 0; i < 3; ++i) CHECK(rig.check_session(one) == 200);
  for (int i = 0; i < 2; ++i) CHECK(rig.check_session(two) == 200);
  CHECK(rig.check_session(one) == 429);
  CHECK(rig.reads == 0);
}

TEST_CASE("before the first tokens are read, transactions authenticate") {
  GateRig rig;
  rig.gate.set_tokens(nullptr, nullptr);
  CHECK(rig.check("nonsense") == 200);
}

}  // namespace
}  // namespace sluice::server
