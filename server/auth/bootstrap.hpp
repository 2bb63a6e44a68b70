// Makes the first admin token of an installation, for the command `sluice-server bootstrap`.
#pragma once

#include <string>

#include "common/base/clock.hpp"
#include "common/base/error.hpp"
#include "server/postgres/pool.hpp"

namespace sluice::server::auth {

// Makes a platform_admin token and returns its text, which is stored nowhere. The audit trail records the new token
// with the actor "bootstrap". `again`: make a token even if there is a live platform_admin token (neither revoked nor
// expired). Of several concurrent calls without `again`, only one makes a token. Errors: database_away (PostgreSQL
// cannot be reached), schema_missing, already_bootstrapped (there is a live platform_admin token, and `again` is
// false), invalid_name, bootstrap_failed (any other failure).
Result<std::string> bootstrap(const postgres::DatabaseOptions& options, const std::string& name, bool again,
                              const Clock& clock = SystemClock());

}  // namespace sluice::server::auth
