// The routes of the agent's API.
#pragma once

#include <array>
#include <string_view>

#include "common/domain/check_batch.hpp"

namespace sluice::agent::api {

struct Route {
  std::string_view path;
  std::string_view method;

  // An open route needs no API key.
  bool is_open() const { return method == "GET"; }
};

inline constexpr std::string_view kProblemRoute = "/problems/{name}";

inline constexpr std::array kRoutes{
    Route{kCheckPath, "POST"},     Route{kBatchPath, "POST"},  Route{"/v1/release", "POST"},
    Route{"/v1/renew", "POST"},    Route{"/v1/health", "GET"}, Route{"/v1/snapshot", "GET"},
    Route{"/openapi.json", "GET"}, Route{"/docs", "GET"},      Route{kProblemRoute, "GET"},
};

}  // namespace sluice::agent::api
