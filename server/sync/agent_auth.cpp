#include "server/sync/agent_auth.hpp"

#include "common/domain/credential.hpp"
#include "server/auth/authenticate.hpp"

namespace sluice::server::sync {

TokenMatch match_token(const AgentTokens& tokens, std::string_view authorization, std::int64_t now_us) {
  const auto presented = parse_key(auth::bearer(authorization), CredentialKind::agent_token);
  if (!presented) return {};
  const auto found = tokens.find(presented->id);
  const bool known = found != tokens.end();
  const bool good = verify(known ? found->second->hash : dummy_key_hash(), presented->secret);
  if (!known || !good || !auth::is_live(found->second->document, now_us))
    return {.token = nullptr, .unknown_id = !known, .id = presented->id};
  return {.token = found->second, .unknown_id = false, .id = presented->id};
}

AgentCaller caller_of(const identity::Binding& binding) {
  return {.token_id = "binding:" + binding.id,
          .organization_id = binding.organization_id,
          .tenant_ids = binding.tenant_ids,
          .namespace_ = binding.namespace_};
}

std::shared_ptr<const AgentToken> token_of_pod(const identity::Bindings& bindings, const identity::PodIdentity& pod,
                                               std::string_view bearer) {
  const identity::Binding* const binding = bindings.find(pod.namespace_, pod.service_account);
  if (binding == nullptr) return nullptr;
  auto token = std::make_shared<AgentToken>();
  token->caller = caller_of(*binding);
  token->caller.pod = pod.pod;
  token->document.id = token->caller.token_id;
  token->document.expires_at = pod.expires_at;
  token->pod = pod;
  token->bearer = bearer;
  token->scope_since = bindings.changed_at(pod.namespace_);
  return token;
}

}  // namespace sluice::server::sync
