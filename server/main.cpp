// sluice-server: reads its configuration, which names a command, and runs that command.
#include <cstdio>

#include <fmt/core.h>
#include <unistd.h>

#include "common/program/config_reader.hpp"
#include "common/program/dumps.hpp"
#include "common/program/reference.hpp"
#include "server/admin/openapi.hpp"
#include "server/admin/routes_text.hpp"
#include "server/app.hpp"
#include "server/audit/command.hpp"
#include "server/commands.hpp"
#include "server/flag_table.hpp"
#include "server/import_command.hpp"
#include "server/metrics.hpp"

int main(int argc, char** argv) {
  sluice::program::forbid_dumps();
  using sluice::server::Config;
  auto config = sluice::server::read_config(argc, argv, sluice::program::Environment(environ));
  if (!config) {
    const std::string_view name = sluice::server::kProgram.name;
    fmt::print(stderr, "{}", sluice::program::describe(config.error(), fmt::format("{} cannot start", name), name));
    return 2;
  }
  if (config->command != Config::Command::run) {  // the log of run() has the warnings
    for (const sluice::Fault& warning : config->warnings) {
      fmt::print(stderr, "{}: warning: {}.\n", sluice::server::kProgram.name, warning.text);
    }
    for (const sluice::Fault& unknown : config->unknown_variables) {
      fmt::print(stderr, "{}: warning: {}\n", sluice::server::kProgram.name, unknown.text);
    }
  }
  switch (config->command) {
    case Config::Command::help:
    case Config::Command::version:
      fmt::print("{}", config->text);
      return 0;
    case Config::Command::routes:
      fmt::print("{}", sluice::server::admin::describe_routes());
      return 0;
    case Config::Command::reference:
      fmt::print("{}", sluice::program::reference_document(sluice::server::kProgram, sluice::http::AnsweredBy::server,
                                                           sluice::server::metric_specs()));
      return 0;
    case Config::Command::openapi:
      fmt::print("{}", sluice::server::admin::openapi_document());
      return 0;
    case Config::Command::migrate:
      return sluice::server::run_migrate(*config);
    case Config::Command::bootstrap:
      return sluice::server::run_bootstrap(*config);
    case Config::Command::make_secrets:
      return sluice::server::run_make_secrets(*config);
    case Config::Command::audit_verify:
      return sluice::server::audit::audit_verify({.database_url = config->database.url,
                                                  .head_file = config->head_file,
                                                  .write_head_file = config->write_head_file});
    case Config::Command::import_policies:
      return sluice::server::run_import(config->import_options);
    case Config::Command::run:
      break;
  }
  return sluice::server::run(*config);
}
