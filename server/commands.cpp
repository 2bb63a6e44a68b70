#include "server/commands.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <fmt/core.h>

#include "server/auth/bootstrap.hpp"
#include "server/kubernetes/make_secrets.hpp"
#include "server/postgres/migrations.hpp"
#include "server/postgres/url.hpp"

namespace sluice::server {
namespace {

constexpr std::chrono::milliseconds kRetryEvery{500};

}  // namespace

int run_migrate(const Config& config) {
  const postgres::MigrationOptions options{
      .owner_url = config.owner_url, .app_role = postgres::url_user(config.database.url), .dry_run = config.dry_run};
  // Process 1 of a container gets only signals that it has a handler for.
  std::signal(SIGTERM, [](int) { std::_Exit(1); });
  const auto until = std::chrono::steady_clock::now() + config.wait;
  auto report = postgres::migrate(options);
  for (bool printed = false; !report && report.error().code == "database_away"; printed = true) {
    if (std::chrono::steady_clock::now() + kRetryEvery > until) break;
    if (!printed) fmt::print(stderr, "sluice-server migrate: waiting for PostgreSQL: {}\n", report.error().text);
    std::this_thread::sleep_for(kRetryEvery);
    report = postgres::migrate(options);
  }
  if (!report) {
    fmt::print(stderr, "sluice-server migrate: {}: {}\n", report.error().code, report.error().text);
    return 1;
  }
  fmt::print("schema {} → {}{}\n", report->before, report->after, config.dry_run ? " (dry run: rolled back)" : "");
  for (const std::string& name : report->applied) fmt::print("  {}\n", name);
  return 0;
}

int run_bootstrap(const Config& config) {
  const auto token = auth::bootstrap(config.database, config.token_name, config.again);
  if (!token) {
    fmt::print(stderr, "sluice-server bootstrap: {}: {}\n", token.error().code, token.error().text);
    return 1;
  }
  fmt::print("{}\n", *token);
  return 0;
}

int run_make_secrets(const Config& config) {
  const auto outcome = kubernetes::make_secrets(config.secrets);
  if (!outcome) {
    fmt::print(stderr, "sluice-server make-secrets: {}: {}\n", outcome.error().code, outcome.error().text);
    return 1;
  }
  for (const kubernetes::CreatedSecret& each : *outcome) {
    fmt::print("{} {}\n", each.name, each.created ? "created" : "exists, unchanged");
  }
  return 0;
}

}  // namespace sluice::server
