// The flags of a program: their names, help and where their values come from. What the values mean is the program's.
//
// A value is taken from the command line, else from the environment (where an empty text counts as not set), else it is
// the default. The variable of --max-age is <PREFIX>MAX_AGE, and <PREFIX>MINT_KEY_MAX_AGE for a flag of the command
// mint-key. Where a command has a flag of the program's, by its name, the two are one setting: it may stand before the
// command or behind it, has the program's variable, and one place in the values.
//
// Variables that are no flag are ignored: Kubernetes makes some of its own (SLUICE_AGENT_SERVICE_HOST,
// SLUICE_AGENT_PORT…) beside a service of the program's name; no flag may be called like one of those.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice::program {

struct FlagSpec {
  std::string_view name;      // without dashes
  std::string_view group;     // of --help
  std::string_view value;     // "ADDR:PORT"; "" is a boolean
  std::string_view fallback;  // the default; "" none
  std::string_view help;
};

struct Command {
  std::string_view name;  // "" the program itself; "mint-key"; "audit verify" is one of the commands of "audit"
  std::string_view description;
  std::string_view footer;  // ends its help; "" none
  std::span<const FlagSpec> flags;
};

// REQUIRES: the program itself is the first of its commands, and "audit" comes before "audit verify".
struct Program {
  std::string_view name;                // "sluice-agent"
  std::string_view environment_prefix;  // "SLUICE_AGENT_"
  std::span<const Command> commands;
};

// Environment variables, "NAME=value" each and nullptr at the end, as main() finds them in environ. A view.
class Environment {
 public:
  explicit Environment(const char* const* entries) : entries_(entries) {}
  const char* find(std::string_view name) const;  // the value; nullptr where it is not set

 private:
  const char* const* entries_;
};

struct FlagValue {
  std::string text;
  std::string source;  // what a fault names: "--listen" or "SLUICE_AGENT_LISTEN"
  bool given = false;  // not the default
};

struct Flags {
  // Of every flag of the program and of the command that was given, by its name without dashes.
  std::map<std::string, FlagValue, std::less<>> values;
  std::string command;  // the one that was given: Command::name
  std::string help;     // of that command
  Faults faults;        // unknown flags, missing values, stray arguments, "audit" without one of its commands
};

// Never stops at the first fault.
Flags read_flags(const Program& program, int argc, const char* const* argv, const Environment& environment);

// A text from outside as a fault shows it: quoted, escaped, cut where it is long, hidden where it may be a secret.
std::string in_quotes(std::string_view text);

}  // namespace sluice::program
