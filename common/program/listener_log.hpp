// Logs whether an address could be bound.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::program {

// Returns whether `address` was bound. `what` names the listener, such as "checks over TLS". `flag` is the flag that
// sets the address.
bool log_listener(telemetry::Log& log, const Result<std::uint16_t>& port, std::string_view what, std::string_view flag,
                  const std::string& address);

}  // namespace sluice::program
