// The messages in Protobuf's binary format, as gRPC carries them.
//
// Thread safety: pure functions.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "agent/rls/message.hpp"

namespace sluice::agent::rls {

// Reads a RateLimitRequest. The result points into `bytes`, and takes over the memory of `former`. The error is a
// sentence. Unknown fields are skipped, as Protobuf demands. Refuses texts that are not UTF-8, and more descriptors or
// entries than message.hpp allows.
std::expected<Request, std::string> decode_request(std::string_view bytes, Request former = {});

// Appends a RateLimitResponse.
void encode_response(const Response& response, std::string& out);

}  // namespace sluice::agent::rls
