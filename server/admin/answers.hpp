// Completes the answer of a handler. If its JSON object is still open (Answer::object), finish() adds the members that
// only the Executor (executor.hpp, which runs the call in its transaction) knows, and closes the object.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// Begins the JSON object of an answer.
json::Writer open_object();

// What the executor knows when a call is done. (Not the outcome of a check.)
struct Outcome {
  std::optional<std::int64_t> revision;  // of the call's changes; nullopt: the call changed nothing
  bool published = true;                 // Redis has what the call wrote
};

FinishedAnswer finish(const Answer& answer, const Outcome& outcome);

}  // namespace sluice::server::admin
