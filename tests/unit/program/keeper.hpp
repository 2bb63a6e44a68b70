// A program that there is not, with every kind of flag and command.
#pragma once

#include <array>

#include <doctest/doctest.h>

#include "common/program/config_reader.hpp"
#include "tests/unit/program/invocation.hpp"

namespace sluice::program {

constexpr FlagSpec kHelp{"help", "Other", "", "false", "Print this help and exit."};
constexpr FlagSpec kOwnerUrl{"owner-url", "Store", "URL", "", "Who may change the schema."};

constexpr std::array kKeeperFlags{
    FlagSpec{"listen", "Serving", "ADDR:PORT", "127.0.0.1:8080", "Where it is served."},
    FlagSpec{"workers", "Serving", "N", "1", "Threads."},
    FlagSpec{"patience", "Serving", "DURATION", "20s", "How long it waits."},
    FlagSpec{"loud", "Serving", "", "false", "Say more."},
    FlagSpec{"level", "Serving", "LEVEL", "info", "What is logged."},
    FlagSpec{"data", "Store", "FILE", "", "What is read."},
    kOwnerUrl,
    kHelp,
    FlagSpec{"version", "Other", "", "false", "Print the version and exit."},
};
constexpr std::array kMigrateFlags{kOwnerUrl, FlagSpec{"to", "Migrate", "N", "7", "The schema's number."}, kHelp};
constexpr std::array kAuditFlags{kHelp};
constexpr std::array kVerifyFlags{FlagSpec{"from-id", "Audit", "N", "0", "Where to begin."}, kHelp};
constexpr std::array kKeeperCommands{
    Command{"", "Keeps things.", "Examples: keeper", kKeeperFlags},
    Command{"migrate", "Brings the schema up to date.", "", kMigrateFlags},
    Command{"audit", "What was done.", "", kAuditFlags, true},
    Command{"audit verify", "Checks that nothing is missing.", "Examples: keeper audit verify", kVerifyFlags},
    Command{"audit list", "Prints it.", "", kAuditFlags},
};
constexpr Program kKeeper{"keeper", "KEEPER_", kKeeperCommands};

inline Flags keeper(const Texts& arguments, const Texts& environment = {}) {
  const Invocation invocation(arguments, environment);
  return read_flags(kKeeper, invocation.argc(), invocation.argv(), invocation.environment());
}

// As keeper(), for a command line without a fault.
inline Flags good_keeper(const Texts& arguments, const Texts& environment = {}) {
  Flags flags = keeper(arguments, environment);
  const std::string faults = describe(flags.faults, "faulty", kKeeper.name);
  CAPTURE(faults);
  CHECK(flags.faults.empty());
  return flags;
}

// The text of the one fault, which must be of `source`.
inline std::string the_fault(const Faults& faults, std::string_view source) {
  const std::string all = describe(faults, "faulty", kKeeper.name);
  CAPTURE(all);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].pointer == source);
  return faults[0].text;
}

}  // namespace sluice::program
