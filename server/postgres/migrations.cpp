#include "server/postgres/migrations.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/crypto.hpp"
#include "server/postgres/failure.hpp"
#include "server/postgres/migrations/embedded.hpp"

namespace sluice::server::postgres {
namespace {

// The file "m0001_store" has version 1 and the name "store".
constexpr Migration migration_of(const embedded::File& file) {
  Migration migration{.version = 0, .name = file.name.substr(6), .sql = file.text};
  for (const char digit : file.name.substr(1, 4)) migration.version = migration.version * 10 + (digit - '0');
  return migration;
}

constexpr auto kMigrations = [] {
  std::array<Migration, embedded::kFiles.size()> migrations;
  std::ranges::transform(embedded::kFiles, migrations.begin(), migration_of);
  return migrations;
}();
static_assert(
    [] {
      for (std::size_t i = 0; i < kMigrations.size(); ++i) {
        if (kMigrations[i].version != static_cast<int>(i) + 1) return false;
      }
      return true;
    }(),
    "migrations are numbered 1, 2, 3, …");

constexpr std::int64_t kAdvisoryLock = 0x736c75696365;  // "sluice" in ASCII

std::string label(const Migration& migration) { return fmt::format("{:04} {}", migration.version, migration.name); }

std::string checksum(const Migration& migration) {
  const Sha256Digest digest = sha256(migration.sql);
  return to_hex(digest);
}

std::string with_role(std::string_view sql, const std::string& role) {
  static constexpr std::string_view kAppRole = "{{app}}";
  std::string text;
  for (std::size_t at; (at = sql.find(kAppRole)) != std::string_view::npos; sql.remove_prefix(at + kAppRole.size())) {
    text.append(sql.substr(0, at)).append(role);
  }
  return text.append(sql);
}

// Throws what libpqxx throws.
class Migrator {
 public:
  explicit Migrator(const MigrationOptions& options)
      : options_(options), connection_(options.owner_url), work_(connection_) {}

  Result<MigrationReport> run() {
    work_.exec("SET LOCAL client_min_messages = 'error'");
    work_.exec_params("SELECT pg_advisory_xact_lock($1)", kAdvisoryLock);
    if (work_.exec_params("SELECT FROM pg_roles WHERE rolname = $1", options_.app_role).empty()) {
      return failure("app_role_missing", fmt::format("there is no role {0}: CREATE ROLE {0} LOGIN with a password; the "
                                                     "server connects as this role (--database-url)",
                                                     connection_.quote_name(options_.app_role)));
    }
    work_.exec(
        "CREATE TABLE IF NOT EXISTS schema_migrations (version integer PRIMARY KEY, name text NOT NULL, checksum "
        "text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())");
    auto report = apply();
    if (report && !options_.dry_run) work_.commit();
    return report;
  }

 private:
  Result<MigrationReport> apply() {
    MigrationReport report;
    const pqxx::result rows = work_.exec("SELECT version, checksum FROM schema_migrations ORDER BY version");
    for (const auto& row : rows) {
      report.before = row[0].as<int>();
      if (static_cast<std::size_t>(report.before) > kMigrations.size()) continue;  // a newer program applied it
      const Migration& ours = kMigrations[static_cast<std::size_t>(report.before - 1)];
      if (checksum(ours) != row[1].c_str()) {
        return failure("migration_changed", fmt::format("migration {} was applied with another content than this "
                                                        "program has: do not change migrations, add one",
                                                        label(ours)));
      }
    }
    report.after = report.before;
    for (const Migration& migration : kMigrations) {
      if (migration.version <= report.before) continue;
      work_.exec(with_role(migration.sql, connection_.quote_name(options_.app_role)));
      work_.exec_params("INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)",
                        migration.version, std::string(migration.name), checksum(migration));
      report.applied.push_back(label(migration));
      report.after = migration.version;
    }
    return report;
  }

  const MigrationOptions& options_;
  pqxx::connection connection_;
  pqxx::work work_;
};

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

Result<MigrationReport> migrate(const MigrationOptions& options) {
  try {
    return Migrator(options).run();
  } catch (const std::exception& error) {
    const bool away = classify(error) == FailureClass::away;
    return failure(away ? "database_away" : "migration_failed", describe(error));
  }
}

Result<int> check_schema(const std::string& app_url) {
  constexpr int kOurs = static_cast<int>(kMigrations.size());
  try {
    pqxx::connection connection(app_url);
    pqxx::nontransaction work(connection);
    const pqxx::result rows = work.exec("SELECT max(version) FROM schema_migrations");
    const int found = rows[0][0].is_null() ? 0 : rows[0][0].as<int>();
    if (found < kOurs) {
      return failure("schema_old", fmt::format("the database has schema {}, this program needs {}: run sluice-server "
                                               "migrate first",
                                               found, kOurs));
    }
    if (found > kOurs + 1) {
      return failure("schema_new",
                     fmt::format("the database has schema {}, but this program works only with schema {} or {}: use a "
                                 "newer program",
                                 found, kOurs, kOurs + 1));
    }
    return found;
  } catch (const pqxx::undefined_table&) {
    return failure("schema_missing", "the database has no schema yet: run sluice-server migrate first");
  } catch (const pqxx::insufficient_privilege&) {
    return failure("schema_missing",
                   "the application's role may not read schema_migrations: run sluice-server migrate "
                   "with this role's URL as --database-url");
  } catch (const std::exception& error) {
    return failure(classify(error) == FailureClass::away ? "database_away" : "schema_unknown", describe(error));
  }
}

}  // namespace sluice::server::postgres
