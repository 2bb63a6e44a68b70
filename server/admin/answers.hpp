// Completes an answer: adds to its open object the members that only the executor knows, and closes the object.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// An empty object, open for the members of an answer.
json::Writer open_object();

// What the executor knows when a call is done.
struct Outcome {
  std::optional<std::int64_t> revision;  // of the call's changes; nullopt: the call changed nothing
  bool published = true;                 // Redis has what the call wrote
};

FinishedAnswer finish(const Answer& answer, const Outcome& outcome);

}  // namespace sluice::server::admin
