// The first token: what an installation begins with.
#pragma once

#include <string>

#include "common/base/error.hpp"
#include "server/postgres/pool.hpp"

namespace sluice::server {

// Makes a platform_admin token, recorded like every change, and gives its text: it is shown nowhere else.
// Errors: database_away, schema_missing, already_bootstrapped (a live one exists and `again` is false).
Result<std::string> bootstrap(const DatabaseOptions& options, const std::string& name, bool again);

}  // namespace sluice::server
