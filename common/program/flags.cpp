#include "common/program/flags.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <deque>
#include <ranges>
#include <vector>

#include "common/json/text.hpp"
#include "common/program/command_flags.hpp"

namespace sluice::program {
namespace {

using Texts = std::vector<std::string>;
using Commands = std::deque<CommandFlags>;  // in the order of Program::commands

constexpr std::size_t kMaxValueShown = 120;  // bytes

Texts words_of(std::string_view command) {
  Texts words;
  for (const auto word : std::views::split(command, ' ')) words.emplace_back(word.begin(), word.end());
  return words;
}

// "audit verify" becomes a CLI11 subcommand of "audit".
CLI::App& add_subcommand(const Command& command, CLI::App& program) {
  if (command.name.empty()) return program;
  const Texts words = words_of(command.name);
  CLI::App* parent = &program;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) parent = parent->get_subcommand(words[i]);
  return *parent->add_subcommand(words.back(), std::string(command.description));
}

// Guesses the command before CLI11 parses the arguments: the one whose words appear first. If two commands begin at the
// same word, the later one in the list wins: "audit verify", not "audit".
const CommandFlags& likely_command(const Commands& commands, const Texts& arguments) {
  const CommandFlags* likely = &commands.front();
  auto first = arguments.end();
  for (const CommandFlags& command : commands | std::views::drop(1)) {
    const auto found = std::ranges::search(arguments, words_of(command.name())).begin();
    if (found == arguments.end() || found > first) continue;
    likely = &command;
    first = found;
  }
  return *likely;
}

// Removes and reports arguments at which CLI11 would stop: `--flag=`, and a last flag without its value.
void report_missing_values(Texts& arguments, const CommandFlags& command, Flags& out) {
  const auto report = [&out](std::string_view flag) {
    out.faults.push_back({std::string(flag), "needs a value; leave the flag out for its default"});
  };
  std::erase_if(arguments, [&](const std::string& argument) {
    const bool empty = argument.size() > 3 && argument.starts_with("--") && argument.ends_with('=') &&
                       argument.find('=') == argument.size() - 1;
    if (empty) report(std::string_view(argument).substr(0, argument.size() - 1));
    return empty;
  });
  while (!arguments.empty() && command.value_flag(arguments.back()) != nullptr) {
    report(arguments.back());
    arguments.pop_back();
  }
}

// Reports "audit" without a subcommand such as "verify".
void report_incomplete(const Program& program, Flags& out) {
  const auto given = std::ranges::find(program.commands, out.command, &Command::name);
  if (given == program.commands.end() || !given->is_group) return;
  std::string below;
  for (const Command& command : program.commands) {
    if (!command.name.starts_with(out.command + " ")) continue;
    below += fmt::format("{}{}", below.empty() ? "" : ", ", command.name);
  }
  out.faults.push_back({out.command, fmt::format("is not a complete command; there is: {}", below)});
}

}  // namespace

const char* Environment::find(std::string_view name) const {
  for (const char* const* entry = entries_; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=')
      return *entry + name.size() + 1;
  }
  return nullptr;
}

bool has_variable(const FlagSpec& spec) {
  // Many container images set a variable that ends in _VERSION.
  return spec.name != "help" && spec.name != "version";
}

std::string variable_of(const Program& program, const Command& command, const FlagSpec& spec) {
  std::string name(program.environment_prefix);
  const std::span<const FlagSpec> of_program = program.commands.front().flags;
  if (std::ranges::find(of_program, spec.name, &FlagSpec::name) == of_program.end())
    name.append(command.name).append("-");
  name.append(spec.name);
  for (char& c : name) {
    if (c == '-' || c == ' ')
      c = '_';
    else if (c >= 'a' && c <= 'z')
      c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

std::string shown_value(std::string_view text) {
  // The value may be a URL with a password.
  if (text.find('@') != std::string_view::npos) return "(a value with an '@', not shown)";
  std::string shown;
  json::append_string(shown, text.substr(0, kMaxValueShown));
  if (text.size() > kMaxValueShown) shown += "…";
  return shown;
}

Flags read_flags(const Program& program, int argc, const char* const* argv, const Environment& environment) {
  Flags out;
  CLI::App app(std::string(program.commands.front().description), std::string(program.name));
  app.require_subcommand(0, 1);  // a second command counts as an unknown argument
  Commands commands;
  for (const Command& command : program.commands) commands.emplace_back(add_subcommand(command, app), program, command);

  Texts arguments(argv + std::min(argc, 1), argv + argc);
  report_missing_values(arguments, likely_command(commands, arguments), out);
  const std::string first = arguments.empty() ? std::string() : arguments.front();
  std::ranges::reverse(arguments);  // CLI11 reads them from the back
  try {
    app.parse(arguments);
  } catch (const CLI::Error& error) {
    out.faults.push_back({"command line", error.what()});
  }
  for (const CommandFlags& command : commands) {
    if (!command.given()) continue;
    out.command = command.name();
    command.report_unknown(first, out);
    command.take_values(environment, out);
  }
  if (!out.unknown_command) report_incomplete(program, out);
  out.help = app.help();  // of the given command
  return out;
}

}  // namespace sluice::program
