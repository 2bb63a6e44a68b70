#include "common/program/listener_log.hpp"

#include <fmt/core.h>

namespace sluice::program {

bool log_listener(telemetry::Log& log, const Result<std::uint16_t>& port, std::string_view what, std::string_view flag,
                  const std::string& address) {
  if (!port) {
    log.error("listen_failed", fmt::format("{}; choose another address with {}.", port.error().text, flag),
              {{"listener", what}, {"address", address}, {"code", port.error().code}});
    return false;
  }
  log.info("listening", "A listener is up.", {{"listener", what}, {"address", address}, {"port", *port}});
  return true;
}

}  // namespace sluice::program
