// The schema: numbered SQL files, each applied once, in order, whole or not at all.
//
// The application of schema N also runs on schema N + 1: a migration only adds, and what it makes superfluous is
// removed by a later one. So a rolling deploy works: migrate first, then replace the servers one by one.
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
  std::string_view sql;  // {{app}} stands for the application's role
};

std::span<const Migration> migrations();

struct MigrationReport {
  int before = 0;  // the schema's version found; 0: none
  int after = 0;
  std::vector<std::string> applied;  // "0001 store"
};

struct MigrationOptions {
  std::string owner_url;
  std::string app_role;  // gets what the application needs; must exist
  bool dry_run = false;  // do it all, and undo it
};

// Applies what is missing, under an advisory lock: of several that start at once one migrates and the others wait.
// Errors: database_away, app_role_missing, migration_changed (an applied one differs from ours), migration_failed.
Result<MigrationReport> migrate(const MigrationOptions& options);

// Can this program work with the schema there? Errors: database_away, schema_missing, schema_old, schema_new.
Result<int> check_schema(const std::string& app_url);

}  // namespace sluice::server::postgres
