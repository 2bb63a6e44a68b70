// Makes the first admin token of an installation, for the command `sluice-server bootstrap`.
#pragma once

#include <string>

#include "common/base/clock.hpp"
#include "common/base/error.hpp"
#include "server/postgres/pool.hpp"

namespace sluice::server::auth {

// Makes a platform_admin token and returns its text, which is stored nowhere. `again`: make a token even if there is a
// live platform_admin token (neither revoked nor expired). Errors: database_away, schema_missing, already_bootstrapped,
// invalid_name, bootstrap_failed.
Result<std::string> bootstrap(const postgres::DatabaseOptions& options, const std::string& name, bool again,
                              const Clock& clock = SystemClock());

}  // namespace sluice::server::auth
