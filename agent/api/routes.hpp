// The routes of the agent's API.
#pragma once

#include <array>
#include <string_view>

#include "agent/api/authz.hpp"
#include "common/domain/check_batch.hpp"

namespace sluice::agent::api {

struct Route {
  std::string_view path;
  std::string_view method;
  bool any_method = false;  // other methods get the same answer

  // An open route needs no API key.
  bool is_open() const { return method == "GET" && !any_method; }
  bool has_body() const { return method == "POST"; }
};

inline constexpr std::string_view kProblemRoute = "/problems/{name}";
inline constexpr std::string_view kAuthzRoute = "/v1/authz/{path}";

inline constexpr std::array kRoutes{
    Route{kCheckPath, "POST"},     Route{kBatchPath, "POST"},      Route{"/v1/release", "POST"},
    Route{"/v1/renew", "POST"},    Route{kAuthzPath, "GET", true}, Route{kAuthzRoute, "GET", true},
    Route{"/json", "POST"},        Route{"/v1/health", "GET"},     Route{"/v1/snapshot", "GET"},
    Route{"/openapi.json", "GET"}, Route{"/docs", "GET"},          Route{kProblemRoute, "GET"},
};

}  // namespace sluice::agent::api
