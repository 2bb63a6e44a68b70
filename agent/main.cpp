#include <cstdio>

#include <fmt/core.h>
#include <unistd.h>

#include "agent/api/openapi.hpp"
#include "agent/app.hpp"
#include "agent/check_config.hpp"
#include "agent/flag_table.hpp"
#include "agent/metrics.hpp"
#include "agent/mint_key.hpp"
#include "common/program/config_reader.hpp"
#include "common/program/dumps.hpp"
#include "common/program/reference.hpp"

int main(int argc, char** argv) {
  sluice::program::forbid_dumps();
  using sluice::agent::Config;
  auto config = sluice::agent::read_config(argc, argv, sluice::program::Environment(environ));
  if (!config) {
    const std::string_view name = sluice::agent::kProgram.name;
    fmt::print(stderr, "{}", sluice::program::describe(config.error(), fmt::format("{} cannot start", name), name));
    return 2;
  }
  if (config->command != Config::Command::run) {  // run() logs them
    for (const sluice::Fault& unknown : config->unknown_variables) {
      fmt::print(stderr, "{}: warning: {}\n", sluice::agent::kProgram.name, unknown.text);
    }
  }
  switch (config->command) {
    case Config::Command::help:
    case Config::Command::version:
      fmt::print("{}", config->text);
      return 0;
    case Config::Command::reference:
      fmt::print("{}", sluice::program::reference_document(sluice::agent::kProgram, sluice::http::AnsweredBy::agent,
                                                           sluice::agent::metric_specs()));
      return 0;
    case Config::Command::openapi:
      fmt::print("{}", sluice::agent::api::openapi_document());
      return 0;
    case Config::Command::mint_key:
      fmt::print("{}", sluice::agent::mint_key_document(config->mint));
      return 0;
    case Config::Command::check_config:
      for (const sluice::Fault& warning : config->warnings) {  // run() logs them
        fmt::print(stderr, "{}: warning: {}.\n", sluice::agent::kProgram.name, warning.text);
      }
      return sluice::agent::check_config(*config);
    case Config::Command::run:
      break;
  }
  return sluice::agent::run(*config);
}
