// The PostgreSQL of the tests: databases and roles are kept apart, a killed server recovers, and libpqxx, an older
// library than our compiler, does what we will ask of it.
#include "tests/integration/support/postgres_server.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <pqxx/pqxx>
#include <string>

namespace sluice::test {
namespace {

TEST_CASE("each test has a database of its own, which may be a copy of another") {
  TestDatabase filled;
  filled.execute("CREATE TABLE t AS SELECT 7 AS n, 'a' AS s");
  TestDatabase copy(filled.name());
  TestDatabase empty;
  CHECK(copy.execute("SELECT n, s FROM t") == "7|a");
  CHECK(empty.execute("SELECT to_regclass('t') IS NULL") == "t");
}

TEST_CASE("the application may do what the owner grants it, and no more") {
  TestDatabase database;
  pqxx::connection owner(database.url("sluice_owner"));
  pqxx::connection app(database.url());
  pqxx::nontransaction(owner).exec("CREATE TABLE t (n int)");
  CHECK_THROWS_AS(pqxx::nontransaction(app).exec("SELECT n FROM t"), pqxx::insufficient_privilege);
  pqxx::nontransaction(owner).exec("GRANT SELECT ON t TO sluice_app");
  CHECK(pqxx::nontransaction(app).exec("SELECT n FROM t").empty());
}

TEST_CASE("a server that was killed or stopped comes back with what was committed; a lost connection is replaced") {
  PostgresServer server;
  const std::string url = server.url("sluice_owner");
  auto connection = std::make_optional<pqxx::connection>(url);
  pqxx::nontransaction(*connection).exec("CREATE TABLE t AS SELECT 7 AS n");
  server.kill();
  CHECK_THROWS_AS(pqxx::work(*connection).exec("SELECT 1"), pqxx::broken_connection);
  CHECK_THROWS_AS(pqxx::connection{url}, pqxx::broken_connection);
  server.start_again();
  connection.emplace(url);
  CHECK(pqxx::work(*connection).exec1("SELECT n FROM t")[0].as<int>() == 7);
  server.stop();
  CHECK_THROWS_AS(pqxx::work(*connection).exec("SELECT 1"), pqxx::broken_connection);
  server.start_again();
  CHECK(server.execute("SELECT n FROM t", "sluice") == "7");
}

TEST_CASE("values of every kind reach the server and come back, absent ones too") {
  TestDatabase database;
  pqxx::connection connection(database.url());
  connection.prepare("echo", "SELECT $1::bigint AS whole, $2::text AS text, $3::text AS absent, $4::bool, $5::bytea");
  pqxx::work work(connection);
  const std::string bytes("\0\xff", 2);
  const pqxx::row row = work.exec_prepared1("echo", std::int64_t{1} << 60, std::string("a'b\xC3\xA9"),
                                            std::optional<std::string>(), true, pqxx::binarystring(bytes));
  CHECK(row["whole"].as<std::int64_t>() == std::int64_t{1} << 60);
  CHECK(row["text"].as<std::string>() == "a'b\xC3\xA9");
  CHECK(row["absent"].is_null());
  CHECK(row[3].as<bool>());
  CHECK(pqxx::binarystring(row[4]).str() == bytes);
}

TEST_CASE("a refused statement says why by its type and its code") {
  TestDatabase database;
  database.execute("CREATE TABLE t (n int PRIMARY KEY); GRANT ALL ON t TO sluice_app");
  pqxx::connection connection(database.url());
  const auto insert = [&] {
    pqxx::work work(connection);
    work.exec_params0("INSERT INTO t VALUES ($1)", 1);
    work.commit();
  };
  insert();
  CHECK_THROWS_AS(insert(), pqxx::unique_violation);
  try {
    pqxx::work(connection).exec("SELECT 1 / 0");
    FAIL("no error");
  } catch (const pqxx::sql_error& error) {
    CHECK(error.sqlstate() == "22012");
  }
}

struct Receiver : pqxx::notification_receiver {
  explicit Receiver(pqxx::connection_base& connection) : pqxx::notification_receiver(connection, "news") {}
  void operator()(const std::string& payload, int) override { heard += payload; }
  std::string heard;
};

TEST_CASE("a listener hears what another connection commits, and nothing that is rolled back") {
  TestDatabase database;
  pqxx::connection speaker(database.url());
  pqxx::connection listener(database.url());
  Receiver receiver(listener);
  pqxx::work(speaker).exec("NOTIFY news, 'withdrawn'");  // ends without a commit
  pqxx::work work(speaker);
  work.exec("NOTIFY news, 'said'");
  work.commit();
  CHECK(listener.await_notification(10, 0) == 1);
  CHECK(receiver.heard == "said");
}

}  // namespace
}  // namespace sluice::test
