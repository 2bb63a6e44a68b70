#include "ctl/command_line.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "ctl/commands/commands.hpp"

namespace sluice::ctl {

std::unique_ptr<CLI::App> make_command_line(Invocation& invocation) {
  auto app = std::make_unique<CLI::App>(
      "Manages Sluice from a terminal or a pipeline: policies, plans, overrides, counters, agents.", "sluicectl");
  app->require_subcommand(1);
  app->set_version_flag("--version", std::string(version()));
  app->footer(
      "Server and token come from --server and --token-file, else from SLUICECTL_SERVER and SLUICECTL_TOKEN_FILE or\n"
      "SLUICECTL_TOKEN, else from the context that `sluicectl login` stored. A token never stands on the command "
      "line.\n"
      "Exit codes: 0 done; 1 done, and the answer is no (diff: differences; check: denied; wait: not in time); 2 "
      "failed.");

  Globals& globals = invocation.globals;
  app->add_option("--context", globals.context, "The context to use instead of the current one.")
      ->type_name("NAME")
      ->envname("SLUICECTL_CONTEXT");
  app->add_option("--server", globals.server, "The server.")->type_name("URL")->envname("SLUICECTL_SERVER");
  app->add_option("--token-file", globals.token_file, "A file whose first line is the admin token, or - for stdin.")
      ->type_name("FILE")
      ->envname("SLUICECTL_TOKEN_FILE");
  app->add_option("--ca", globals.ca, "CA certificates to trust, instead of the operating system's.")
      ->type_name("FILE")
      ->envname("SLUICECTL_CA")
      ->check(CLI::ExistingFile);
  app->add_option("-t,--tenant", globals.tenant, "The tenant.")->type_name("ID")->envname("SLUICECTL_TENANT");
  app->add_option("-o,--output", globals.output, "table, json, yaml or name")
      ->check(CLI::IsMember({"table", "json", "yaml", "name"}))
      ->capture_default_str();
  app->add_option("--timeout", globals.timeout, "The longest time to wait for an answer.")
      ->type_name("DURATION")
      ->capture_default_str();
  app->add_flag("--insecure-server", globals.insecure, "Allow http:// to another machine: the token is sent in clear.");

  add_login(*app, invocation);
  add_get(*app, invocation);
  add_apply(*app, invocation);
  add_delete(*app, invocation);
  add_edit(*app, invocation);
  add_history(*app, invocation);
  add_check(*app, invocation);
  add_watch(*app, invocation);
  add_counters(*app, invocation);
  add_audit(*app, invocation);
  add_fleet(*app, invocation);
  add_import(*app, invocation);
  add_completion(*app, invocation);
  return app;
}

std::string describe(const CLI::App& app, const CLI::ParseError& error) {
  std::string given;
  for (const CLI::App* level = &app; !level->get_subcommands().empty();) {
    level = level->get_subcommands().front();
    given.append(" ").append(level->get_name());
  }
  if (!given.empty()) return fmt::format("{}. `sluicectl{} --help` shows the options.", error.what(), given);
  for (const std::string& word : app.remaining()) {
    if (word.starts_with('-')) continue;
    std::vector<std::string> names;
    for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(command->get_name());
    }
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string_view meant = nearest(word, known);
    return fmt::format("there is no command {}.{} `sluicectl --help` lists the commands.", sluice::quoted(word),
                       meant.empty() ? "" : fmt::format(" Did you mean {}?", sluice::quoted(meant)));
  }
  return fmt::format("{}. `sluicectl --help` lists the commands and options.", error.what());
}

}  // namespace sluice::ctl
