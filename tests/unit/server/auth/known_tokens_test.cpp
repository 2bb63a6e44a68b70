// Which admin tokens are accepted from memory, and which need a look at PostgreSQL.
#include "server/auth/known_tokens.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "server/auth/missed_ids.hpp"

namespace sluice::server {
namespace {

using Verdict = auth::KnownMatch::Verdict;

constexpr std::int64_t kNoon = 1'700'000'000'000'000;

struct Known {
  // Returns the text of a token in memory.
  std::string add(const std::string& id, bool revoked = false, std::optional<std::int64_t> expires_us = {}) {
    const std::string text = mint_key(id, CredentialKind::admin_token);
    auth::KnownToken token{.document = {},
                           .hash = *parse_key_hash(hash_secret(split_key(text, CredentialKind::admin_token)->secret))};
    token.document.id = id;
    token.document.revoked = revoked;
    if (expires_us) token.document.expires_at = WallTime(std::chrono::microseconds(*expires_us));
    tokens.emplace(id, std::make_shared<const auth::KnownToken>(token));
    return text;
  }
  Verdict match(const std::string& text) const { return match_known(tokens, "Bearer " + text, kNoon).verdict; }

  auth::KnownTokens tokens;
};

TEST_CASE("a live token in memory is accepted, and a revoked one is refused") {
  Known known;
  CHECK(known.match(known.add("token-a")) == Verdict::accepted);
  CHECK(known.match(known.add("token-b", false, kNoon + 1)) == Verdict::accepted);
  CHECK(known.match(known.add("token-c", true)) == Verdict::refused);
}

TEST_CASE("a token that is not in memory, or has expired there, may be another in PostgreSQL") {
  Known known;
  const std::string unknown = mint_key("token-x", CredentialKind::admin_token);
  CHECK(known.match(unknown) == Verdict::outdated);
  const std::string header = "Bearer " + unknown;
  CHECK(match_known(known.tokens, header, kNoon).id == "token-x");
  CHECK(known.match(known.add("token-a", false, kNoon)) == Verdict::outdated);
}

TEST_CASE("a wrong secret, another kind of token and another form need no look at PostgreSQL") {
  Known known;
  known.add("token-a");
  CHECK(known.match(mint_key("token-a", CredentialKind::admin_token)) == Verdict::refused);
  CHECK(known.match(mint_key("token-a", CredentialKind::agent_token)) == Verdict::refused);
  CHECK(known.match("sla_token-x_" + std::string(kSecretDigits, 'a')) == Verdict::refused);  // a wrong checksum
  CHECK(known.match("") == Verdict::refused);
}

TEST_CASE("the fault of a refused token names its form or its end, and never whether the id exists") {
  using enum CredentialFault;
  Known known;
  const auto fault = [&known](const std::string& header) { return match_known(known.tokens, header, kNoon).fault; };
  CHECK(fault("") == missing);
  CHECK(fault("Bearer ") == malformed);
  CHECK(fault(known.add("token-l")) == malformed);  // without "Bearer"
  CHECK(fault("Bearer sla_token-x_" + std::string(kSecretDigits, 'a')) == malformed);
  CHECK(fault("Bearer " + mint_key("prod")) == wrong_kind);
  CHECK(fault("Bearer " + mint_key("pod", CredentialKind::agent_token)) == wrong_kind);
  CHECK(fault("Bearer " + known.add("token-e", false, kNoon)) == expired);
  CHECK(fault("Bearer " + mint_key("token-e", CredentialKind::admin_token)) == unknown);
  CHECK(fault("Bearer " + known.add("token-r", true, kNoon)) == unknown);
  CHECK(fault("Bearer " + mint_key("token-x", CredentialKind::admin_token)) == unknown);
}

TEST_CASE("a missed id is known for a second, and the oldest of too many is forgotten") {
  auth::MissedIds missed;
  const auth::MissedIds::Time now{std::chrono::seconds(100)};
  missed.add("a", now);
  missed.add("a", now + auth::MissedIds::kFor / 2);  // does not last longer
  CHECK(missed.contains("a", now + auth::MissedIds::kFor - std::chrono::nanoseconds(1)));
  CHECK_FALSE(missed.contains("a", now + auth::MissedIds::kFor));
  CHECK_FALSE(missed.contains("b", now));
  const auto later = now + auth::MissedIds::kFor;
  for (std::size_t i = 0; i <= auth::MissedIds::kMaxIds; ++i) missed.add(std::to_string(i), later);
  CHECK_FALSE(missed.contains("0", later));
  CHECK(missed.contains("1", later));
  CHECK(missed.contains(std::to_string(auth::MissedIds::kMaxIds), later));
}

}  // namespace
}  // namespace sluice::server
