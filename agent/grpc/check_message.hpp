// Reads the messages of sluice.v1.Decisions that callers send (api/sluice/v1/decisions.proto). The rules for values,
// and the texts of faults, are those of JSON checks.
//
// Thread safety: pure functions. A valid check needs no allocation once the vectors of CheckRequest have grown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/domain/check_request.hpp"

namespace sluice::agent::rpc {

// The views of `request` point into the message. Reading changes the message: resources get their canonical spelling.
struct CheckMessage {
  CheckRequest request;
  bool deny_with_status = false;
};

// Returns all faults. After a fault, do not use `out`.
std::vector<RequestFault> read_check(std::span<char> message, CheckMessage& out);

// CheckBatchRequest: fills `checks` with the bytes of each check.
std::vector<RequestFault> read_batch(std::span<char> message, std::vector<std::span<char>>& checks);

// CheckStreamRequest.
struct StreamMessage {
  std::uint64_t id = 0;
  std::span<char> check;
};
std::optional<StreamMessage> read_stream_message(std::span<char> message);

// ReleaseRequest and RenewRequest; nullopt if the message is malformed or has no lease_id.
std::optional<std::string_view> read_lease_id(std::span<const char> message);

}  // namespace sluice::agent::rpc
