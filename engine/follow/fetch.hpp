// Reads the server's answer to a fetch and applies it to the state in force.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "common/base/error.hpp"
#include "common/http_client/client.hpp"
#include "common/sync/report.hpp"
#include "common/sync/scope_state.hpp"

namespace sluice::follow {

struct NewState {
  sync::Applied applied;
  bool full = false;  // true if it comes from a full snapshot
};
struct NotModified {};
// The server does not know the agent's position, or the delta cannot be used.
struct NeedFullSnapshot {
  std::string why;
};
struct FailedFetch {
  Error why;
};
// A full snapshot that cannot be used.
struct RefusedState {
  std::optional<sync::Position> head;  // nullopt if the snapshot's position cannot be read
  Error why;
};
using FetchReply = std::variant<NewState, NotModified, NeedFullSnapshot, FailedFetch, RefusedState>;

// `before`: the state in force, or an empty state. `since_given`: whether the request asked for the delta since
// `before.head`. A pure function.
FetchReply read_reply(const sync::ScopeState& before, bool since_given, const Result<http_client::Response>& answer);

}  // namespace sluice::follow
