// Reads the header grpc-timeout: how long the client waits for the answer.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace sluice::grpc {

// "100m": one to eight digits and a unit: H, M, S, m, u or n. Rounded up to milliseconds. nullopt: malformed.
std::optional<std::chrono::milliseconds> parse_timeout(std::string_view text);

}  // namespace sluice::grpc
