// Finds, in memory, the agent token or the binding of an agent.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "server/sync/sync_state.hpp"

namespace sluice::server::sync {

struct TokenMatch {
  std::shared_ptr<const AgentToken> token;  // nullptr: no valid token
  bool unknown_id = false;                  // the token may be newer than the state in memory
  std::string_view id = {};                 // within the header that was matched; "" if the header has another form
};

// Matches `Authorization: Bearer slg_…`. Takes equally long whether or not the id exists.
TokenMatch match_token(const AgentTokens& tokens, std::string_view authorization, std::int64_t now_us);

// The scope that the binding gives, without a pod.
AgentCaller caller_of(const identity::Binding& binding);

// nullptr: no binding matches the pod. `bearer`: the pod's token, which Kubernetes has verified.
std::shared_ptr<const AgentToken> token_of_pod(const identity::Bindings& bindings, const identity::PodIdentity& pod,
                                               std::string_view bearer);

}  // namespace sluice::server::sync
