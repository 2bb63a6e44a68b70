// Reads the server's answer to a fetch and applies it to the state in force.
//
// Thread safety: a pure function.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "common/base/error.hpp"
#include "common/http_client/client.hpp"
#include "common/sync/report.hpp"
#include "common/sync/scope_state.hpp"

namespace sluice::agent::follow {

// A new state. `full`: it comes from a full snapshot, not from a delta.
struct NewState {
  sync::Applied applied;
  bool full = false;
};
struct NotModified {};  // 304: the server has nothing newer
// The client must fetch a full snapshot: the server does not know the client's position (410), or the answer cannot be
// used as a delta.
struct NeedFullSnapshot {
  std::string why;
};
struct FailedFetch {  // the fetch failed and is retried
  Error why;
};
// A full snapshot that cannot be used. `head`: its position; nullopt if that cannot be read.
struct RefusedState {
  std::optional<sync::Position> head;
  Error why;
};
using FetchReply = std::variant<NewState, NotModified, NeedFullSnapshot, FailedFetch, RefusedState>;

// `before`: the state in force; empty if there is none. `since_given`: true if the request asked for a delta from
// before.head, false if it asked for a full snapshot.
FetchReply read_reply(const sync::ScopeState& before, bool since_given, const Result<http_client::Response>& answer);

}  // namespace sluice::agent::follow
