#include "server/auth/known_tokens.hpp"

#include "server/auth/authenticate.hpp"

namespace sluice::server::auth {

using Verdict = KnownMatch::Verdict;

KnownMatch match_known_id(const KnownTokens& tokens, std::string_view id, std::int64_t now_us) {
  const auto found = tokens.find(id);
  if (found == tokens.end()) return {.verdict = Verdict::outdated, .id = id};
  // A revoked token stays revoked.
  if (found->second->document.revoked) return {.verdict = Verdict::refused, .id = id};
  if (is_live(found->second->document, now_us)) return {.verdict = Verdict::accepted, .id = id};
  return {.verdict = Verdict::outdated, .id = id, .fault = CredentialFault::expired};
}

KnownMatch match_known(const KnownTokens& tokens, std::string_view authorization, std::int64_t now_us) {
  const auto presented = parse_key(bearer(authorization), CredentialKind::admin_token);
  if (!presented) return {.fault = fault_of_header(authorization)};
  const auto found = tokens.find(presented->id);
  const bool known = found != tokens.end();
  const bool good = verify(known ? found->second->hash : dummy_key_hash(), presented->secret);
  // The secret of a token never changes.
  if (known && !good) return {.verdict = Verdict::refused, .id = presented->id};
  return match_known_id(tokens, presented->id, now_us);
}

}  // namespace sluice::server::auth
