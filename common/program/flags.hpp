// Reads the flags of a program as texts; config_reader.hpp converts them.
//
// A value comes from the command line, else from an environment variable that is not empty, else it is the default. The
// variable of --max-age is <PREFIX>MAX_AGE, and <PREFIX>MINT_KEY_MAX_AGE for a flag of the command mint-key. A flag
// that a command and the program both have is one setting: it can stand before or after the command, and its variable
// is named without the command.
//
// For a service that is named like the program, Kubernetes sets variables such as SLUICE_AGENT_SERVICE_HOST and
// SLUICE_AGENT_PORT. So no flag's variable may have one of these names. unknown_variables.hpp finds misspelt ones.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"

namespace sluice::program {

struct FlagSpec {
  std::string_view name;      // without the leading dashes
  std::string_view group;     // headline in --help
  std::string_view value;     // placeholder such as "ADDR:PORT"; "" for a boolean flag
  std::string_view fallback;  // the default value
  std::string_view help;
  std::string_view alias = {};  // another variable, of other programs, that sets it if its own does not; "" for none
};

struct Command {
  std::string_view name;  // such as "mint-key" or "audit verify"; "" for the program itself
  std::string_view description;
  std::string_view footer;  // last paragraph of its --help
  std::span<const FlagSpec> flags;
  bool is_group = false;        // does nothing itself: "audit" needs "verify"
  bool takes_operands = false;  // words that are not flags, which its description explains
};

// REQUIRES: the first command is the program itself, and a group comes before its commands ("audit", "audit verify").
struct Program {
  std::string_view name;                // "sluice-agent"
  std::string_view environment_prefix;  // "SLUICE_AGENT_"
  std::span<const Command> commands;
};

// A view of an array in the form of `environ`.
class Environment {
 public:
  explicit Environment(const char* const* entries) : entries_(entries) {}
  const char* find(std::string_view name) const;

  // Calls visit(name, value) for each variable.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const char* const* entry = entries_; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      const std::size_t equals = text.find('=');
      if (equals != std::string_view::npos) visit(text.substr(0, equals), text.substr(equals + 1));
    }
  }

 private:
  const char* const* entries_;
};

struct FlagValue {
  std::string text;
  std::string source;    // "--listen" or "SLUICE_AGENT_LISTEN"
  std::string variable;  // "SLUICE_AGENT_LISTEN", also if the value comes from somewhere else
  bool given = false;    // by the user

  bool on_command_line() const { return given && source != variable; }
};

struct Flags {
  // Every flag of the program and of the given command, by its name without dashes.
  std::map<std::string, FlagValue, std::less<>> values;
  std::string command;                // Command::name
  std::vector<std::string> operands;  // of a command that takes some
  std::string help;                   // the --help text of the command
  Faults faults;
  // A word stands where a command belongs. It is the only fault then: which flags are missing or unknown depends on the
  // command.
  bool unknown_command = false;
};

// Collects all faults, instead of stopping at the first.
Flags read_flags(const Program& program, int argc, const char* const* argv, const Environment& environment);

// False for --help and --version.
bool has_variable(const FlagSpec& spec);

// Such as "SLUICE_AGENT_LISTEN". REQUIRES: `program` has `command`, and `command` has `spec`.
std::string variable_of(const Program& program, const Command& command, const FlagSpec& spec);

// A value as faults show it: quoted and cut after 120 bytes. A value with an '@' may hold a password and is replaced.
std::string shown_value(std::string_view text);

}  // namespace sluice::program
