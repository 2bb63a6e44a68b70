// The schema as migrations: numbered SQL files. Missing migrations are applied in one transaction.
//
// A server for schema N also runs on schema N + 1, so that servers can be replaced one by one. So migration N + 1
// removes only what a server for schema N does not use.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"

namespace sluice::server::postgres {

struct Migration {
  int version = 0;
  std::string_view name;
  std::string_view sql;  // {{app}} stands for the role that servers connect as
};

std::span<const Migration> migrations();

struct MigrationReport {
  int before = 0;  // the version found; 0: no schema
  int after = 0;
  std::vector<std::string> applied;  // "0001 store"
};

struct MigrationOptions {
  std::string owner_url;
  std::string app_role;  // the role that servers connect as; must exist
  bool dry_run = false;  // apply everything, then roll back
};

// Of several concurrent callers, one migrates and the others wait. Errors: database_away, app_role_missing,
// migration_changed (an applied migration has another text than in this program), migration_failed.
Result<MigrationReport> migrate(const MigrationOptions& options);

// Returns the schema's version. Errors: database_away, schema_missing, schema_old, schema_new, schema_unknown (any
// other failure of PostgreSQL).
Result<int> check_schema(const std::string& app_url);

}  // namespace sluice::server::postgres
