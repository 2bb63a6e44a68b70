// Writes the table of routes as text, for the command `sluice-server routes`.
#pragma once

#include <string>

namespace sluice::server::admin {

// One line per route, in columns separated by spaces: method, path, permission, the smallest scope that the caller must
// have (tenant, organization or platform), and the roles that have the permission.
std::string describe_routes();

}  // namespace sluice::server::admin
