// The flags of sluice-agent: their names, help and where their values come from. What the values mean is config's.
//
// A value is taken from the command line, else from the environment (SLUICE_AGENT_<FLAG>, where an empty text counts as
// not set), else it is the default. Variables that are no flag are ignored: Kubernetes makes some of its own
// (SLUICE_AGENT_SERVICE_HOST, SLUICE_AGENT_PORT…) beside a service of this name; no flag may be called like one of
// those.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice::agent {

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
  // Of every flag of the command that was given, by its name without dashes; those of mint-key are "mint-key id" ….
  std::map<std::string, FlagValue, std::less<>> values;
  bool mint_key = false;  // the subcommand was given
  std::string help;       // of the command that was given
  Faults faults;          // unknown flags, missing values, stray arguments
};

// Never throws and never stops at the first fault.
Flags read_flags(int argc, const char* const* argv, const Environment& environment);

// A text from outside as a fault shows it: quoted, escaped, cut where it is long, hidden where it may be a secret.
std::string in_quotes(std::string_view text);

}  // namespace sluice::agent
