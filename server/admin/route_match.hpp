// Finds the route of a request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/admin/routes.hpp"

namespace sluice::server::admin {

struct RouteMatch {
  const Route* route = nullptr;          // nullptr: no route has this path and method
  std::vector<std::string> path_values;  // decoded
  std::string allow;                     // the methods that this path accepts; "": no route has this path
};
RouteMatch find_route(std::string_view method, std::string_view path);

}  // namespace sluice::server::admin
