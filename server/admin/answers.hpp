// Finishing an answer: the members that the executor adds to an open object, and its end.
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
  std::optional<std::int64_t> revision;  // that the call's changes became
  bool published = true;                 // Redis has what the call wrote
};

FinishedAnswer finish(const Answer& answer, const Outcome& outcome);

}  // namespace sluice::server::admin
