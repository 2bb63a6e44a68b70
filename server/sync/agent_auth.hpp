// Finds, in memory, the agent token or the binding of an agent. agent_authenticator and watches use these functions.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "server/sync/sync_state.hpp"

namespace sluice::server::sync {

struct TokenMatch {
  std::shared_ptr<const AgentToken> token;  // nullptr: no valid token
  bool unknown_id = false;                  // the id is unknown: the token may be newer than the state in memory
};

// Matches `Authorization: Bearer slg_…`. Compares in constant time, and takes equally long whether or not the id
// exists.
TokenMatch match_token(const AgentTokens& tokens, std::string_view authorization, std::int64_t now_us);

// Returns the access that a binding gives a pod; nullptr: no binding matches. `bearer`: the pod's token, which
// Kubernetes has verified.
std::shared_ptr<const AgentToken> token_of_pod(const identity::Bindings& bindings, const identity::PodIdentity& pod,
                                               std::string_view bearer);

}  // namespace sluice::server::sync
