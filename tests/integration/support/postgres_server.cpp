#include "tests/integration/support/postgres_server.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <fstream>
#include <pqxx/pqxx>
#include <stdexcept>
#include <thread>

namespace sluice::test {
namespace {

// The processes a process started.
std::vector<pid_t> children(pid_t parent) {
  std::ifstream list(fmt::format("/proc/{0}/task/{0}/children", parent));
  std::vector<pid_t> found;
  for (pid_t pid = 0; list >> pid;) found.push_back(pid);
  return found;
}

// One that has ended, and that nobody waited for, is still listed: as Z.
bool alive(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) return false;
  const std::size_t name = line.rfind(") ");
  return name != std::string::npos && line.compare(name, 3, ") Z") != 0;
}

std::string quoted(std::string_view name) { return fmt::format("\"{}\"", name); }

}  // namespace

PostgresServer& PostgresServer::shared() {
  static PostgresServer server;
  return server;
}

PostgresServer::PostgresServer(Options options) : options_(std::move(options)) {
  make_cluster();
  start();
}

PostgresServer::~PostgresServer() { process_.end(SIGQUIT); }

void PostgresServer::make_cluster() {
  ChildProcess script;
  script.start({.words = {SLUICE_SOURCE_DIR "/scripts/postgres", "init", folder_.path().string(), "--no-sync"},
                .log = folder_.path() / "init.log"});
  if (script.wait() != 0) throw std::runtime_error("no cluster of PostgreSQL: " + script.log_tail());
}

void PostgresServer::start() {
  const std::string folder = folder_.path().string();
  std::vector<std::string> settings = {"autovacuum=off", "dynamic_shared_memory_type=mmap", "max_connections=200",
                                       options_.durable ? "fsync=on" : "fsync=off"};
  settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
  std::vector<std::string> words = {
      "/usr/lib/postgresql/15/bin/postgres", "-D", folder + "/data", "-k", folder, "-p", "5432"};
  for (const std::string& setting : settings) words.insert(words.end(), {"-c", setting});
  struct stat owner{};
  if (::stat(folder.c_str(), &owner) != 0) throw std::runtime_error("no " + folder);
  // It ends its processes and its shared memory in order when it gets SIGQUIT.
  process_.start({.words = std::move(words),
                  .log = folder_.path() / "postgres.log",
                  .user = owner.st_uid,
                  .death_signal = SIGQUIT});
  if (!await_ready()) throw std::runtime_error("PostgreSQL does not answer. Its log ends:\n" + process_.log_tail());
}

bool PostgresServer::await_ready() {
  const auto end = std::chrono::steady_clock::now() + options_.patience;
  while (std::chrono::steady_clock::now() < end && process_.running()) {
    try {
      execute("SELECT 1");
      return true;
    } catch (const pqxx::broken_connection&) {  // not yet
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  return false;
}

std::string PostgresServer::url(std::string_view role, std::string_view database) const {
  return fmt::format("postgresql:///{}?host={}&port=5432&user={}", database, folder_.path().string(), role);
}

std::string PostgresServer::create_database(std::string_view copy_of) {
  std::string name = fmt::format("test{}", ++databases_);
  execute(fmt::format("CREATE DATABASE {} OWNER sluice_owner TEMPLATE {}", name, quoted(copy_of)));
  return name;
}

void PostgresServer::drop_database(std::string_view name) {
  execute(fmt::format("DROP DATABASE IF EXISTS {} WITH (FORCE)", quoted(name)));
}

std::string PostgresServer::execute(const std::string& sql, std::string_view database) const {
  pqxx::connection connection(url("postgres", database));
  pqxx::nontransaction statement(connection);
  std::string text;
  for (const pqxx::row row : statement.exec(sql)) {
    if (!text.empty()) text += '\n';
    for (const pqxx::field field : row) text += fmt::format("{}{}", field.num() == 0 ? "" : "|", field.c_str());
  }
  return text;
}

void PostgresServer::stop() { process_.end(SIGINT); }

void PostgresServer::kill() {
  if (!process_.running()) return;
  process_.pause();  // so that it starts no more
  const std::vector<pid_t> family = children(process_.pid());
  for (const pid_t pid : family) ::kill(pid, SIGKILL);
  process_.end();
  for (const pid_t pid : family) {
    while (alive(pid)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void PostgresServer::start_again() { start(); }

TestDatabase::TestDatabase(std::string_view copy_of) : name_(PostgresServer::shared().create_database(copy_of)) {}

TestDatabase::~TestDatabase() {
  try {
    PostgresServer::shared().drop_database(name_);
  } catch (const std::exception&) {  // it goes with the server
  }
}

}  // namespace sluice::test
