#include "server/auth/known_tokens.hpp"

#include "server/auth/authenticate.hpp"

namespace sluice::server::auth {

KnownMatch match_known(const KnownTokens& tokens, std::string_view authorization, std::int64_t now_us) {
  using Verdict = KnownMatch::Verdict;
  const auto presented = parse_key(bearer(authorization), CredentialKind::admin_token);
  if (!presented) return {.fault = fault_of_header(authorization)};
  const auto found = tokens.find(presented->id);
  const bool known = found != tokens.end();
  const bool good = verify(known ? found->second->hash : dummy_key_hash(), presented->secret);
  if (!known) return {.verdict = Verdict::outdated, .id = presented->id};
  // The secret of a token never changes, and a revoked token stays revoked.
  if (!good || found->second->document.revoked) return {.verdict = Verdict::refused, .id = presented->id};
  if (is_live(found->second->document, now_us)) return {.verdict = Verdict::accepted, .id = presented->id};
  return {.verdict = Verdict::outdated, .id = presented->id, .fault = CredentialFault::expired};
}

}  // namespace sluice::server::auth
