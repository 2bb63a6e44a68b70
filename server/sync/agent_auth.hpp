// Which agent is calling: from a bearer token to what it opens, out of memory.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "server/sync/world.hpp"

namespace sluice::server::sync {

struct Proof {
  std::shared_ptr<const AgentToken> token;  // nullptr: none that opens anything
  bool unknown_id = false;                  // well-formed, but nobody knows it: it may be newer than what is in memory
};

// Of `Authorization: Bearer slg_…`. Compares in constant time, and does the same work whether the id exists or not.
Proof prove(const AgentTokens& tokens, std::string_view authorization, std::int64_t now_us);

// What lets a pod in whose token Kubernetes has proved: the binding it falls under. nullptr: there is none.
std::shared_ptr<const AgentToken> pass_of(const identity::Bindings& bindings, const identity::PodIdentity& pod,
                                          std::string_view bearer);

}  // namespace sluice::server::sync
