// Failures as text.
#pragma once

#include <string>
#include <string_view>

#include "common/redis/command.hpp"

namespace sluice::redis::test {

inline std::string_view name_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::timeout:
      return "timeout";
    case FailureKind::disconnected:
      return "disconnected";
    case FailureKind::unavailable:
      return "unavailable";
    case FailureKind::breaker_open:
      return "breaker_open";
    case FailureKind::overload:
      return "overload";
    case FailureKind::queue_timeout:
      return "queue_timeout";
    case FailureKind::protocol:
      return "protocol";
  }
  return "?";
}

inline std::string to_text(Failure failure) {
  return std::string(name_of(failure.kind)) + (failure.executed_unknown ? " unknown" : "");
}

}  // namespace sluice::redis::test
