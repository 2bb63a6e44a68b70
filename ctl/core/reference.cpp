#include "ctl/core/reference.hpp"

#include <fmt/core.h>

namespace sluice::ctl {
namespace {

std::string cell_text(const std::string& text) {
  std::string out;
  for (const char character : text) {
    if (character == '|') out.push_back('\\');
    out.push_back(character == '\n' ? ' ' : character);
  }
  return out;
}

// Without what CLI11 adds for a check: "FILE:FILE", "TEXT:{a,b}".
std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

void add_option(std::string& out, const CLI::Option& option) {
  // get_name(positional, all): "-o,--output" for an option, "kind" for an operand.
  const bool positional = option.get_positional();
  const std::string name = positional ? option.get_name(true) : option.get_name(false, true);
  const std::string value = positional || option.get_items_expected_max() == 0 ? "" : " " + type_of(option);
  const std::string variable = option.get_envname();
  const std::string fallback = option.get_default_str();
  std::string meaning = cell_text(option.get_description());
  if (option.get_required()) meaning.append(" Required.");
  if (!variable.empty()) meaning.append(fmt::format(" Variable: `{}`.", variable));
  out.append(fmt::format("| `{}{}` | {} | {} |\n", name, value, fallback.empty() ? "" : "`" + fallback + "`", meaning));
}

void add_command(std::string& out, const CLI::App& command, const std::string& name) {
  out.append(fmt::format("\n## {}\n\n{}\n", name, command.get_description()));
  std::string rows;
  for (const CLI::Option* const option : command.get_options()) {
    if (option->get_name(false, true) != "-h,--help" && option->get_name() != "--version") add_option(rows, *option);
  }
  if (!rows.empty()) out.append("\n| option | default | meaning |\n|---|---|---|\n").append(rows);
  for (const CLI::App* const below : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (!below->get_group().empty()) add_command(out, *below, fmt::format("{} {}", name, below->get_name()));
  }
}

}  // namespace

std::string reference(const CLI::App& app) {
  std::string out;
  add_command(out, app, app.get_name());
  return out;
}

}  // namespace sluice::ctl
