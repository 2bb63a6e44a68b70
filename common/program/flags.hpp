// Reads the flags of a program as texts. Each program converts them into its configuration with config_reader.hpp.
//
// A value comes from the command line, else from an environment variable that is not empty, else it is the default. The
// variable of --max-age is <PREFIX>MAX_AGE, and <PREFIX>MINT_KEY_MAX_AGE for a flag of the command mint-key. If a
// command and the program have a flag of the same name, both are one setting: it may stand before or after the command,
// and its variable is the program's.
//
// Unknown variables are ignored. Kubernetes sets some with the same prefix for a service of the program's name
// (SLUICE_AGENT_SERVICE_HOST, SLUICE_AGENT_PORT, …), so no flag may have one of these names.
//
// Thread safety: none; used by main() before threads start.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice::program {

struct FlagSpec {
  std::string_view name;      // without the leading dashes
  std::string_view group;     // headline in --help
  std::string_view value;     // placeholder of the value, such as "ADDR:PORT"; "": a boolean flag
  std::string_view fallback;  // the default value; "": none
  std::string_view help;
};

struct Command {
  // Such as "mint-key", or "audit verify" for the command "verify" below "audit". "": the program itself.
  std::string_view name;
  std::string_view description;
  std::string_view footer;  // last paragraph of its --help; "": none
  std::span<const FlagSpec> flags;
  bool is_group = false;  // does nothing itself: "audit" needs "verify"
};

// REQUIRES: the first command is the program itself, and a group comes before its commands ("audit", "audit verify").
struct Program {
  std::string_view name;                // "sluice-agent"
  std::string_view environment_prefix;  // "SLUICE_AGENT_"
  std::span<const Command> commands;
};

// A view of environment variables in the form of `environ`: texts "NAME=value", ended by nullptr.
class Environment {
 public:
  explicit Environment(const char* const* entries) : entries_(entries) {}
  const char* find(std::string_view name) const;  // the value; nullptr where it is not set

 private:
  const char* const* entries_;
};

struct FlagValue {
  std::string text;
  std::string source;  // named in faults: "--listen" or "SLUICE_AGENT_LISTEN"
  bool given = false;  // set by the user; false: `text` is the default
};

struct Flags {
  // Every flag of the program and of the given command, by its name without dashes.
  std::map<std::string, FlagValue, std::less<>> values;
  std::string command;  // Command::name of the given command
  std::string help;     // the --help text of that command
  Faults faults;        // unknown flags, missing values, stray arguments, "audit" without one of its commands
};

// Reads everything and collects all faults, instead of stopping at the first.
Flags read_flags(const Program& program, int argc, const char* const* argv, const Environment& environment);

// Whether a flag can be set by an environment variable: --help and --version cannot.
bool has_variable(const FlagSpec& spec);

// The environment variable of a flag: "SLUICE_AGENT_LISTEN". REQUIRES: the program has `command`, and `command` has the
// flag `spec`.
std::string variable_of(const Program& program, const Command& command, const FlagSpec& spec);

// A value for the text of a fault: quoted, escaped, cut after 120 bytes, and replaced if it contains an '@', because it
// may then be a URL with a password.
std::string shown_value(std::string_view text);

}  // namespace sluice::program
