// Every route of the admin API: one row each. The router, the checks of permissions, /openapi.json's test and the test
// of every role against every route all read this table.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/admin/call.hpp"

namespace sluice::server::admin {

struct Route {
  std::string_view method;
  std::string_view path;  // a template: "/v1/admin/plans/{id}"
  auth::Permission permission;
  auth::Level level;  // what the caller's scope must reach at least
  RouteHandler handler;
  std::string_view parameters = "";  // names allowed in the query, with commas between
  std::size_t max_body = 1 << 20;    // bytes
  bool one_state = false;            // all it reads is of one moment
  bool takes_yaml = false;           // its body may be YAML

  bool changes() const { return method != "GET"; }
};

std::span<const Route> routes();

struct Found {
  const Route* route = nullptr;          // nullptr: no route has this method, or the path is none
  std::vector<std::string> path_values;  // decoded
  std::string allow;                     // methods the path has; "": it is no path of ours
};
Found find_route(std::string_view method, std::string_view path);

}  // namespace sluice::server::admin
