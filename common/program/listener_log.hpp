// Logs whether an address could be bound.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::program {

// Logs the port of a listener, or why `address` could not be bound. Returns whether it was bound. `what`: the
// listener's name in the line, such as "checks over TLS". `flag`: the flag that sets the address.
bool log_listener(telemetry::Log& log, const Result<std::uint16_t>& port, std::string_view what, std::string_view flag,
                  const std::string& address);

}  // namespace sluice::program
