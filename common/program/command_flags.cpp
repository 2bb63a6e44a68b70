#include "common/program/command_flags.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/text.hpp"

namespace sluice::program {
namespace {

constexpr std::size_t kMaxNameShown = 120;  // bytes

// CLI11 indents lines, but does not break them.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kWidth = 80;
  std::string lines;
  while (text.size() > kWidth) {
    const std::size_t space = text.rfind(' ', kWidth);
    if (space == std::string_view::npos) break;
    lines.append(text.substr(0, space)).append("\n");
    text.remove_prefix(space + 1);
  }
  return lines.append(text);
}

struct Variable {
  std::string_view name;
  std::string_view text;  // "" if it is absent or empty
};

// The flag's own variable, or else its alias.
Variable find_variable(const FlagSpec& spec, std::string_view own, const Environment& environment) {
  if (!has_variable(spec)) return {};
  for (const std::string_view name : {own, spec.alias}) {
    const char* text = name.empty() ? nullptr : environment.find(name);
    if (text != nullptr && *text != '\0') return {name, text};
  }
  return {};
}

}  // namespace

CommandFlags::CommandFlags(CLI::App& app, const Program& program, const Command& command)
    : app_(app), program_(program), command_(command), texts_(command.flags.size()) {
  // CLI11's own --help would end parsing before faults are found.
  app.set_help_flag();
  app.allow_extras();
  app.footer(std::string(command.footer));
  app.get_formatter()->column_width(38);
  for (std::size_t i = 0; i < texts_.size(); ++i) add(command.flags[i], texts_[i]);
}

void CommandFlags::add(const FlagSpec& spec, std::string& text) {
  std::string help = wrapped(spec.help);
  if (has_variable(spec)) {
    help += fmt::format("\n[{}{}{}]", spec.fallback.empty() ? "" : fmt::format("default: {}, ", spec.fallback),
                        "env: ", variable_of(program_, command_, spec));
  }
  const std::string name = fmt::format("{}--{}", spec.name == "help" ? "-h," : "", spec.name);
  CLI::Option* option = spec.value.empty() ? app_.add_flag(name, text, help) : app_.add_option(name, text, help);
  option->group(std::string(spec.group))->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  if (!spec.value.empty()) option->type_name(std::string(spec.value));
  entries_.push_back({&spec, option, &text});
}

const FlagSpec* CommandFlags::value_flag(std::string_view argument) const {
  if (!argument.starts_with("--")) return nullptr;
  const auto found = std::ranges::find(command_.flags, argument.substr(2), &FlagSpec::name);
  return found != command_.flags.end() && !found->value.empty() ? &*found : nullptr;
}

void CommandFlags::take_values(const Environment& environment, Flags& out) const {
  for (const Entry& entry : entries_) {
    const std::string its_variable = variable_of(program_, command_, *entry.spec);
    FlagValue value{.text = std::string(entry.spec->fallback),
                    .source = fmt::format("--{}", entry.spec->name),
                    .variable = its_variable};
    const auto [variable, set] = find_variable(*entry.spec, its_variable, environment);
    // For a subcommand: the value of the program's flag of the same name, if there is one.
    const auto before = out.values.find(entry.spec->name);
    if (entry.option->count() > 0) {
      value.text = *entry.text;
      value.given = true;
    } else if (before != out.values.end() && before->second.given) {
      continue;
    } else if (!set.empty()) {
      value = {.text = std::string(set), .source = std::string(variable), .variable = its_variable, .given = true};
    }
    out.values.insert_or_assign(std::string(entry.spec->name), std::move(value));
  }
}

// A word after an unknown flag is most likely the flag's value, so it is not reported.
void CommandFlags::report_unknown(std::string_view first, Flags& out) const {
  bool behind_flag = false;
  for (const std::string& argument : app_.remaining()) {
    if (out.unknown_command) return;
    const bool flag = argument.starts_with("-") && argument.size() > 1;
    const std::string_view whole = argument;
    const std::string_view name = whole.substr(0, whole.find('='));
    if (flag) {
      const std::size_t dashes = std::min(name.find_first_not_of('-'), name.size());
      const std::string_view hint = nearest_flag(name.substr(dashes));
      const std::string fix = hint.empty() ? "see --help" : fmt::format("did you mean --{}?", hint);
      // Shows only the name: a value after '=' may be a secret that was meant for another flag.
      out.faults.push_back({std::string(name.substr(0, kMaxNameShown)), fmt::format("is not a flag; {}", fix)});
    } else if (!behind_flag && command_.takes_operands) {
      out.operands.push_back(argument);
    } else if (!behind_flag) {
      report_word(argument, argument == first, out);
    }
    behind_flag = flag && name.size() == whole.size();
  }
}

// Between flags a word is most likely a value too many, at the begin of the command line a command.
void CommandFlags::report_word(std::string_view word, bool is_first, Flags& out) const {
  if (const std::string_view command = nearest_command(word); !command.empty()) {
    return report_command(word, fmt::format("is not a command; did you mean {}?", command), out);
  }
  const std::string_view flag = nearest_flag(word);
  const std::vector<std::string_view> commands = commands_below();
  if (flag.empty() && (is_first || command_.is_group) && !commands.empty()) {
    return report_command(
        word,
        fmt::format("is not a command, and flags begin with --; there is: {} (see --help)", fmt::join(commands, ", ")),
        out);
  }
  const std::string fix = flag.empty() ? "flags begin with --, see --help" : fmt::format("did you mean --{}?", flag);
  out.faults.push_back({shown_value(word), fmt::format("is not a flag or the value of one; {}", fix)});
}

void CommandFlags::report_command(std::string_view word, std::string_view fix, Flags& out) const {
  out.unknown_command = true;
  out.faults = {{shown_value(word), std::string(fix)}};
}

std::string_view CommandFlags::nearest_flag(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const FlagSpec& spec : command_.flags) names.push_back(spec.name);
  return nearest(name, names);
}

std::string_view CommandFlags::nearest_command(std::string_view word) const {
  const std::string whole = command_.name.empty() ? std::string(word) : fmt::format("{} {}", command_.name, word);
  return nearest(whole, commands_below());
}

std::vector<std::string_view> CommandFlags::commands_below() const {
  std::vector<std::string_view> names;
  for (const Command& command : program_.commands) {
    const bool is_below = command.name.size() > command_.name.size() && command.name.starts_with(command_.name);
    if (is_below && !command.is_group) names.push_back(command.name);
  }
  return names;
}

}  // namespace sluice::program
