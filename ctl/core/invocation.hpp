// One run of sluicectl: the options that every command has, and the server that they name.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "ctl/core/api.hpp"
#include "ctl/core/contexts.hpp"
#include "ctl/core/outcome.hpp"
#include "ctl/core/output.hpp"

namespace sluice::ctl {

struct Globals {
  std::string config = default_contexts_path();
  std::string context = {};
  std::string server = {};
  std::string token_file = {};
  std::string ca = {};
  std::string tenant = {};
  std::string output = "table";
  std::string timeout = "30s";
  bool insecure = false;
};

class Invocation {
 public:
  Globals globals;
  Exit exit = Exit::done;

  // Which server and token: each from its flag or variable, else from the context. Errors say what is missing.
  Result<Endpoint> endpoint() const;
  // Connects with the first call. The same object each time.
  Result<Api*> server();

  // That of --timeout, at least 1 ms. Error: `duration`.
  Result<std::chrono::milliseconds> timeout() const;
  // The tenant of --tenant, else of the context; "" if there is none.
  std::string tenant() const;
  Format format() const { return parse_format(globals.output).value_or(Format::table); }
  // JSON or YAML was asked for.
  bool for_programs() const { return format() == Format::json || format() == Format::yaml; }

 private:
  Result<Context> context() const;

  std::unique_ptr<Api> api_;
};

// What the help of a command says of the options that every command has.
inline constexpr std::string_view kCommonOptions =
    "Also: --context --server --token-file --ca -t,--tenant -o,--output --timeout --insecure-server. `sluicectl "
    "--help` "
    "explains them.";

// Adds a command whose options are an object that lives as long as `parent`. `run` is called if the command line names
// the command.
template <class Options>
std::pair<CLI::App*, Options*> add_command(CLI::App& parent, const std::string& name, const std::string& help,
                                           Invocation& invocation, Exit (*run)(Invocation&, const Options&)) {
  auto options = std::make_shared<Options>();
  CLI::App* const command = parent.add_subcommand(name, help);
  command->fallthrough();  // the options of every command may stand behind it
  command->footer(std::string(kCommonOptions));
  command->callback([&invocation, options, run] { invocation.exit = run(invocation, *options); });
  return {command, options.get()};
}

// A server's URL that a token may be sent to. Error: `server`, if it is none or would send the token in clear.
Result<http_client::Url> safe_url(const std::string& url, bool insecure);

}  // namespace sluice::ctl
