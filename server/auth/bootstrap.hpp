// The first token: what an installation begins with.
#pragma once

#include <string>

#include "common/base/clock.hpp"
#include "common/base/error.hpp"
#include "server/postgres/pool.hpp"

namespace sluice::server::auth {

// Makes a platform_admin token, recorded like every change (the actor is "bootstrap"), and gives its text: it is shown
// nowhere else. Of several calls at once one makes it.
// Errors: database_away, schema_missing, already_bootstrapped (a live one exists and `again` is false), invalid_name,
// bootstrap_failed.
Result<std::string> bootstrap(const postgres::DatabaseOptions& options, const std::string& name, bool again,
                              const Clock& clock = SystemClock());

}  // namespace sluice::server::auth
