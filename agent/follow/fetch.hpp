// What became of a request for a snapshot: the answer, judged against the state it is to be applied to.
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

// A state to take. `whole`: it does not go on from the state before.
struct NewState {
  sync::Applied applied;
  bool whole = false;
};
struct NotModified {};
// The whole state is the way on: the server says so (410), or what it sent does not fit.
struct AskForWhole {
  std::string why;
};
struct Unusable {  // to be asked for again
  Error why;
};
// Whole, and not to be taken. `head`: absent where it cannot be read.
struct NotTaken {
  std::optional<sync::Position> head;
  Error why;
};
using FetchReply = std::variant<NewState, NotModified, AskForWhole, Unusable, NotTaken>;

// `before`: none is an empty one. `since_given`: the request asked for what changed since its head.
FetchReply judge_reply(const sync::ScopeState& before, bool since_given, const Result<http_client::Response>& answer);

}  // namespace sluice::agent::follow
