#include "server/sync/agent_auth.hpp"

#include "common/domain/credential.hpp"
#include "server/auth/authenticate.hpp"

namespace sluice::server {

Proof prove(const AgentTokens& tokens, std::string_view authorization, std::int64_t now_us) {
  const auto presented = parse_key(bearer(authorization), CredentialKind::agent_token);
  if (!presented) return {};
  const auto found = tokens.find(presented->id);
  const bool known = found != tokens.end();
  const bool good = verify(known ? found->second->hash : dummy_key_hash(), presented->secret);
  if (!known || !good || !is_live(found->second->document, now_us)) return {.token = nullptr, .unknown_id = !known};
  return {.token = found->second, .unknown_id = false};
}

}  // namespace sluice::server
