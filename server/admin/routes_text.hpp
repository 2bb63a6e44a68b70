// Writes the table of routes as text, for the command `sluice-server routes`.
//
// Thread safety: a pure function.
#pragma once

#include <string>

namespace sluice::server::admin {

// One line per route: method, path, permission, the smallest scope that the caller must have (tenant, organization,
// platform), and the roles that have the permission. Columns are separated by spaces; the roles come last.
std::string describe_routes();

}  // namespace sluice::server::admin
