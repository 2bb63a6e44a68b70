// What batches and streams share: one check of several, and its CheckResult.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "agent/grpc/check_message.hpp"
#include "agent/grpc/statuses.hpp"
#include "engine/decide/decider.hpp"

namespace sluice::agent::rpc {

// Reads one check of several; returns why it is refused.
std::optional<Refused> read_one(std::span<char> bytes, const decide::Caller& caller, CheckMessage& out);

// Writes a CheckResult into `out`. `part` is scratch.
void write_result(const Decision& decision, std::string& out, std::string& part);
void write_result(const Refused& refused, StatusWriter& statuses, std::string& out, std::string& part);

}  // namespace sluice::agent::rpc
