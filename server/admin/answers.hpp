// Completes the answer of a handler: adds the members that only the Executor knows, and closes Answer::object.
#pragma once

#include <optional>
#include <string>

#include "server/admin/call.hpp"

namespace sluice::server::admin {

json::Writer open_object();

// What the executor knows when a call is done. (Not the outcome of a check.)
struct Outcome {
  std::optional<std::int64_t> revision;  // nullopt if the call changed nothing
  bool published = true;                 // Redis has what the call wrote
};

FinishedAnswer finish(const Answer& answer, const Outcome& outcome);

}  // namespace sluice::server::admin
