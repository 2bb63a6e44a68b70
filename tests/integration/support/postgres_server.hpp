// A private PostgreSQL 15 for tests: own cluster, own Unix socket, no port; gone with the object, whatever happens.
//
// Not thread-safe. Make it on a thread that lives as long as the server shall (see ChildProcess). Failures throw
// std::runtime_error with the end of the server's log, or what libpqxx throws.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/support/child_process.hpp"
#include "tests/integration/support/temporary_folder.hpp"

namespace sluice::test {

class PostgresServer {
 public:
  struct Options {
    // What was committed survives kill(). With `durable` it would survive a loss of power too, as in production
    // (fsync).
    bool durable = false;
    std::vector<std::string> settings{};        // more of them: "name=value"
    std::chrono::milliseconds patience{60000};  // until it answers
  };

  // The one server of a test program, started when it is first asked for: on the main thread. Tests keep apart by
  // databases; who stops or kills one makes its own.
  static PostgresServer& shared();

  PostgresServer() : PostgresServer(Options{}) {}
  explicit PostgresServer(Options options);  // makes a cluster, which takes a second; returns when it answers
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // Where a role (sluice_app, sluice_owner, or the superuser postgres) finds a database, as libpq takes it.
  std::string url(std::string_view role = "sluice_app", std::string_view database = "sluice") const;

  // A new database of sluice_owner's, a copy of another one to which nobody is connected; its name.
  std::string create_database(std::string_view copy_of = "sluice");
  void drop_database(std::string_view name);  // whoever is connected

  // Statements of the superuser on a connection of their own. The rows as text: one a line, fields apart by '|'.
  std::string execute(const std::string& sql, std::string_view database = "postgres") const;

  void stop();         // in order; what is open is rolled back
  void kill();         // at once, with all its processes
  void start_again();  // REQUIRES: stopped or killed. At the same place

 private:
  void make_cluster();
  void start();
  bool await_ready();

  Options options_;
  TemporaryFolder folder_{"/tmp"};  // reachable for the user whom root runs PostgreSQL as, and short
  ChildProcess process_;
  int databases_ = 0;
};

// An empty database of the shared server, for as long as a test takes.
class TestDatabase {
 public:
  explicit TestDatabase(std::string_view copy_of = "sluice");
  ~TestDatabase();
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  const std::string& name() const { return name_; }
  std::string url(std::string_view role = "sluice_app") const { return PostgresServer::shared().url(role, name_); }
  std::string execute(const std::string& sql) const { return PostgresServer::shared().execute(sql, name_); }

 private:
  std::string name_;
};

}  // namespace sluice::test
