#include "server/schema.hpp"

#include "server/postgres/migrations.hpp"
#include "server/postgres/url.hpp"

namespace sluice::server {

bool prepare_schema(const Config& config, telemetry::Log& log) {
  if (!config.owner_url.empty()) {
    const auto migrated =
        postgres::migrate({.owner_url = config.owner_url, .app_role = postgres::url_user(config.database.url)});
    if (migrated) {
      log.info("schema", "The schema is up to date.",
               {{"version", migrated->after}, {"applied", migrated->applied.size()}});
      return true;
    }
    if (migrated.error().code != "database_away") {
      log.error("schema_failed", migrated.error().text, {{"code", migrated.error().code}});
      return false;
    }
  }
  const auto schema = postgres::check_schema(config.database.url);
  if (schema) return true;
  const bool away = schema.error().code == "database_away";
  log.write(away ? telemetry::LogLevel::warn : telemetry::LogLevel::error, away ? "database_away" : "schema_failed",
            schema.error().text, {{"code", schema.error().code}});
  return away;
}

}  // namespace sluice::server
