// The schema: applied once however many start at once, whole or not at all, and only where program and schema fit.
#include "server/postgres/migrations.hpp"

#include <doctest/doctest.h>

#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include <pqxx/pqxx>

#include "tests/integration/audit/store.hpp"

namespace sluice::test {
namespace {

using server::postgres::check_schema;
using server::postgres::migrate;
using server::postgres::MigrationOptions;
using server::postgres::MigrationReport;

MigrationOptions options_for(const TestDatabase& database) {
  return {.owner_url = database.url("sluice_owner"), .app_role = "sluice_app"};
}

std::string code(const Result<int>& result) { return result ? "good" : result.error().code; }
std::string code(const Result<MigrationReport>& result) { return result ? "good" : result.error().code; }

const int kNewest = static_cast<int>(server::postgres::migrations().size());

}  // namespace

TEST_CASE("of several programs that start at once one migrates, and all find the schema there") {
  TestDatabase database;
  constexpr int kStarts = 4;
  std::barrier start(kStarts);
  std::vector<Result<MigrationReport>> reports(kStarts, failure("none", ""));
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kStarts; ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        reports[static_cast<std::size_t>(i)] = migrate(options_for(database));
      });
    }
  }
  std::size_t applied = 0;
  for (const auto& report : reports) {
    REQUIRE(code(report) == "good");
    CHECK(report->after == kNewest);
    CHECK(report->before == (report->applied.empty() ? kNewest : 0));
    applied += report->applied.size();
  }
  CHECK(applied == server::postgres::migrations().size());
  CHECK(database.execute("SELECT count(*) FROM schema_migrations") == std::to_string(kNewest));
  CHECK(check_schema(database.url()).value() == kNewest);
}

TEST_CASE("a dry run says what would be done and leaves nothing") {
  TestDatabase database;
  MigrationOptions options = options_for(database);
  options.dry_run = true;
  const auto report = migrate(options);
  REQUIRE(code(report) == "good");
  CHECK(report->before == 0);
  CHECK(report->after == kNewest);
  CHECK(report->applied.at(0) == "0001 store");
  CHECK(database.execute("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace") == "0");
  CHECK(code(check_schema(database.url())) == "schema_missing");
  CHECK(migrate(options_for(database))->applied == report->applied);
}

TEST_CASE("a migration whose content is not the one that was applied is refused") {
  Store store;
  store.tamper("UPDATE schema_migrations SET checksum = repeat('0', 64) WHERE version = 1");
  const auto report = migrate(options_for(store.database()));
  CHECK(code(report) == "migration_changed");
  CHECK(report.error().text.find("0001 store") != std::string::npos);
}

TEST_CASE("a migration that fails leaves nothing of itself") {
  TestDatabase database;
  database.execute("CREATE TABLE idempotency ()");  // in the way of the last things that the first one makes
  CHECK(code(migrate(options_for(database))) == "migration_failed");
  CHECK(database.execute("SELECT string_agg(relname, ',') FROM pg_class WHERE relnamespace = 'public'::regnamespace") ==
        "idempotency");
}

TEST_CASE("migrating needs the application's role and a database that is there") {
  TestDatabase database;
  MigrationOptions options = options_for(database);
  options.app_role = "nobody";
  const auto report = migrate(options);
  CHECK(code(report) == "app_role_missing");
  CHECK(report.error().text.find("CREATE ROLE \"nobody\"") != std::string::npos);
  options.owner_url = "postgresql:///sluice?host=/nonexistent&user=sluice_owner";
  CHECK(code(migrate(options)) == "database_away");
  CHECK(code(check_schema(options.owner_url)) == "database_away");
}

TEST_CASE("a program works with its schema and the one after it, and with no other") {
  Store store;
  const std::string url = store.url();
  CHECK(check_schema(url).value() == kNewest);

  const auto add = [&](int version) {
    store.tamper("INSERT INTO schema_migrations (version, name, checksum) VALUES (" + std::to_string(version) +
                 ", 'later', 'x')");
  };
  add(kNewest + 1);
  CHECK(check_schema(url).value() == kNewest + 1);
  // The program of this schema, started again with the owner's URL, leaves the later one alone.
  const auto report = migrate(options_for(store.database()));
  REQUIRE(code(report) == "good");
  CHECK(report->applied.empty());
  CHECK(report->after == kNewest + 1);

  add(kNewest + 2);
  CHECK(code(check_schema(url)) == "schema_new");

  store.tamper("DELETE FROM schema_migrations WHERE version >= " + std::to_string(kNewest));
  CHECK(code(check_schema(url)) == "schema_old");
}

TEST_CASE("a role that was granted nothing is told how to get it") {
  Store store;
  store.tamper("REVOKE ALL ON schema_migrations FROM sluice_app");
  const auto found = check_schema(store.url());
  CHECK(code(found) == "schema_missing");
  CHECK(found.error().text.find("--database-url") != std::string::npos);
}

}  // namespace sluice::test
