#include "common/policy/levels.hpp"

#include <array>

namespace sluice::policy {

int level_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::user:
    case Dimension::subject:
      return 0;
    case Dimension::api_key:
    case Dimension::client:
    case Dimension::client_id:
      return 1;
    case Dimension::endpoint:
    case Dimension::resource:
      return kRouteLevel;
    case Dimension::operation:
      return 3;
    case Dimension::service:
      return 4;
    case Dimension::application:
      return 5;
    case Dimension::tenant:
      return 6;
    case Dimension::org:
      return 7;
    case Dimension::signal:
      return 8;
    default:
      return kLevels;
  }
}

std::string_view level_name(int level) {
  static constexpr std::array<std::string_view, kLevels> kNames{"user or subject",
                                                                "api_key or client",
                                                                "endpoint or resource",
                                                                "operation",
                                                                "service",
                                                                "application",
                                                                "tenant",
                                                                "org",
                                                                "signal",
                                                                "no dimension with a level"};
  return kNames[static_cast<std::size_t>(level)];
}

}  // namespace sluice::policy
