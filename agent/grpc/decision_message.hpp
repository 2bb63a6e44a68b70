// Writes decisions as messages of sluice.v1.Decisions (api/sluice/v1/decisions.proto). The numbers are rounded as those
// of JSON decisions are.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "common/domain/decision.hpp"

namespace sluice::agent::rpc {

// Appends a CheckResponse.
void write_check_response(const Decision& decision, std::string& out);

}  // namespace sluice::agent::rpc
