// The table of routes as people and programs read it: what `sluice-server routes` prints.
//
// Thread safety: pure.
#pragma once

#include <string>

namespace sluice::server::admin {

// A line for each route: method, path, permission, how far the caller must reach at least (tenant, organization,
// platform), and the roles that have the permission; columns with spaces between, the roles last.
std::string describe_routes();

}  // namespace sluice::server::admin
