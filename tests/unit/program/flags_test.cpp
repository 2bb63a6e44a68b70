#include "common/program/flags.hpp"

#include "tests/unit/program/keeper.hpp"

namespace sluice::program {
namespace {

std::string value(const Flags& flags, std::string_view name) {
  const auto found = flags.values.find(name);
  return found == flags.values.end() ? "(none)" : found->second.text;
}

TEST_CASE("Without arguments it is the program itself, with every default") {
  const Flags flags = good_keeper({});
  CHECK(flags.command.empty());
  CHECK(flags.values.size() == kKeeperFlags.size());
  CHECK(value(flags, "listen") == "127.0.0.1:8080");
  CHECK(value(flags, "owner-url").empty());
  for (const auto& [name, its_value] : flags.values) {
    CAPTURE(name);
    CHECK_FALSE(its_value.given);
    CHECK(its_value.source == "--" + name);
  }
}

TEST_CASE("Values come as --flag value and as --flag=value; the last one counts") {
  CHECK(value(good_keeper({"--workers=3"}), "workers") == "3");
  CHECK(value(good_keeper({"--workers", "3", "--workers=5"}), "workers") == "5");
  CHECK(value(good_keeper({"--loud=false"}), "loud") == "false");
  CHECK(value(good_keeper({"--loud=1"}), "loud") == "1");
  CHECK(value(good_keeper({"--loud"}), "loud") == "true");
  CHECK(value(good_keeper({"--listen", "[::1]:9000"}), "listen") == "[::1]:9000");
}

TEST_CASE("A flag wins over its variable, and an empty variable counts as not set") {
  const Flags set = good_keeper({}, {"KEEPER_WORKERS=3"});
  CHECK(set.values.at("workers").text == "3");
  CHECK(set.values.at("workers").source == "KEEPER_WORKERS");
  CHECK(set.values.at("workers").given);
  CHECK(value(good_keeper({"--workers", "4"}, {"KEEPER_WORKERS=3"}), "workers") == "4");
  CHECK(value(good_keeper({}, {"KEEPER_WORKERS="}), "workers") == "1");
  CHECK(value(good_keeper({}, {"KEEPER_OWNER_URL=a"}), "owner-url") == "a");
}

TEST_CASE("Variables that are no flag do not matter, and help and version have none") {
  const Flags flags =
      good_keeper({}, {"KEEPER_PORT=tcp://10.0.0.1:8080", "KEEPER_SERVICE_HOST=10.0.0.1", "KEEPER_VERSION=0.1.0",
                       "KEEPER_HELP=1", "KEEPER_WORKERSX=9", "XKEEPER_WORKERS=9", "NONSENSE"});
  for (const auto& [name, its_value] : flags.values) CHECK_FALSE(its_value.given);
}

TEST_CASE("A command has flags of its own, with variables named after it") {
  const Flags flags = good_keeper({"migrate", "--to", "9"}, {"KEEPER_TO=4"});
  CHECK(flags.command == "migrate");
  CHECK(value(flags, "to") == "9");
  CHECK(value(good_keeper({"migrate"}, {"KEEPER_MIGRATE_TO=5"}), "to") == "5");
  CHECK(value(good_keeper({"migrate"}, {"KEEPER_TO=5"}), "to") == "7");
  CHECK(value(good_keeper({}), "to") == "(none)");
}

TEST_CASE("What a command has in common with the program is one setting, wherever it stands") {
  const Texts environment{"KEEPER_OWNER_URL=variable", "KEEPER_MIGRATE_OWNER_URL=ignored"};
  CHECK(value(good_keeper({"migrate"}, environment), "owner-url") == "variable");
  CHECK(value(good_keeper({"migrate", "--owner-url", "behind"}, environment), "owner-url") == "behind");
  CHECK(value(good_keeper({"--owner-url", "before", "migrate"}, environment), "owner-url") == "before");
  CHECK(value(good_keeper({"--owner-url", "before", "migrate", "--owner-url=behind"}), "owner-url") == "behind");
  CHECK(value(good_keeper({"--help", "migrate"}), "help") == "true");
  CHECK(good_keeper({"migrate"}, environment).values.at("owner-url").source == "KEEPER_OWNER_URL");
  CHECK(good_keeper({"migrate", "--owner-url", "x"}, environment).values.at("owner-url").source == "--owner-url");
}

TEST_CASE("A command may be one of another's, and takes the flags of the program before it") {
  const Flags flags = good_keeper({"--workers", "2", "audit", "verify", "--from-id", "8"});
  CHECK(flags.command == "audit verify");
  CHECK(value(flags, "from-id") == "8");
  CHECK(value(flags, "workers") == "2");
  CHECK(value(good_keeper({"audit", "verify"}, {"KEEPER_AUDIT_VERIFY_FROM_ID=6"}), "from-id") == "6");
  CHECK(good_keeper({"audit", "list"}).command == "audit list");
}

TEST_CASE("Half a command is a fault that says how it goes on") {
  const Flags flags = keeper({"audit"});
  CHECK(flags.command == "audit");
  CHECK(mentions(the_fault(flags.faults, "audit"), "there is: audit verify, audit list"));
  CHECK(value(keeper({"audit", "--help"}), "help") == "true");
  CHECK(mentions(keeper({"audit", "--help"}).help, "verify"));
}

TEST_CASE("One command is given: a second word is a stray one, also where it is a command elsewhere") {
  the_fault(keeper({"migrate", "audit"}).faults, "\"audit\"");
  the_fault(keeper({"migrate", "migrate"}).faults, "\"migrate\"");
  the_fault(keeper({"verify"}).faults, "\"verify\"");
  CHECK(mentions(the_fault(keeper({"audit", "migrate"}).faults, "\"migrate\""), "there is: audit verify, audit list"));
  CHECK(keeper({"migrate", "audit", "verify"}).faults.size() == 2);
}

TEST_CASE("A value may be called like a command") {
  const Flags flags = good_keeper({"--level", "migrate", "audit", "verify"});
  CHECK(flags.command == "audit verify");
  CHECK(value(flags, "level") == "migrate");
}

TEST_CASE("Each command has its own help") {
  const std::string own = good_keeper({}).help;
  for (const std::string_view part :
       {"Keeps things.", "Usage: keeper [OPTIONS] [SUBCOMMAND]", "--listen ADDR:PORT", "Threads.",
        "[default: 20s, env: KEEPER_PATIENCE]", "[env: KEEPER_OWNER_URL]", "migrate", "audit", "Examples: keeper"}) {
    CAPTURE(part);
    CHECK(mentions(own, part));
  }
  const std::string migrate = good_keeper({"migrate"}).help;
  CHECK(mentions(migrate, "Usage: keeper migrate [OPTIONS]"));
  CHECK(mentions(migrate, "[default: 7, env: KEEPER_MIGRATE_TO]"));
  CHECK(mentions(migrate, "[env: KEEPER_OWNER_URL]"));
  CHECK_FALSE(mentions(migrate, "--listen"));
  CHECK_FALSE(mentions(migrate, "Examples"));
  const std::string verify = good_keeper({"audit", "verify"}).help;
  CHECK(mentions(verify, "Usage: keeper audit verify [OPTIONS]"));
  CHECK(mentions(verify, "env: KEEPER_AUDIT_VERIFY_FROM_ID]"));
  CHECK(mentions(verify, "Examples: keeper audit verify"));
}

TEST_CASE("A flag without its value is named, whatever stands around it") {
  CHECK(mentions(the_fault(keeper({"--listen"}).faults, "--listen"), "needs a value"));
  CHECK(mentions(the_fault(keeper({"--data=", "--workers", "2"}).faults, "--data"), "needs a value"));
  CHECK(mentions(the_fault(keeper({"migrate", "--to"}).faults, "--to"), "needs a value"));
  CHECK(mentions(the_fault(keeper({"audit", "verify", "--from-id"}).faults, "--from-id"), "needs a value"));
  const Faults faults = keeper({"--workers", "0", "--data", "--listen"}).faults;
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].pointer == "--listen");
  CHECK(faults[1].pointer == "--data");
}

TEST_CASE("Unknown flags are named with the one that was meant, and their values are not reported twice") {
  CHECK(mentions(the_fault(keeper({"--worker", "3"}).faults, "--worker"), "did you mean --workers?"));
  CHECK(mentions(the_fault(keeper({"--lovel=debug"}).faults, "--lovel"), "did you mean --level?"));
  CHECK(mentions(the_fault(keeper({"--completely-different"}).faults, "--completely-different"), "see --help"));
  CHECK(mentions(the_fault(keeper({"-v"}).faults, "-v"), "is not a flag"));
  CHECK(mentions(the_fault(keeper({"migrate", "--workers", "3"}).faults, "--workers"), "is not a flag"));
  CHECK(mentions(the_fault(keeper({"audit", "verify", "--fromid=3"}).faults, "--fromid"), "did you mean --from-id?"));
  CHECK(keeper({"--loud", "one", "two"}).faults.size() == 2);
}

TEST_CASE("A misspelt command, and a flag without its dashes, are answered with what was meant") {
  CHECK(mentions(the_fault(keeper({"migarte"}).faults, "\"migarte\""), "is not a command; did you mean migrate?"));
  CHECK(mentions(the_fault(keeper({"verify"}).faults, "\"verify\""), "did you mean audit verify?"));
  CHECK(mentions(the_fault(keeper({"audit", "verfy"}).faults, "\"verfy\""), "did you mean audit verify?"));
  CHECK(mentions(the_fault(keeper({"listen"}).faults, "\"listen\""), "did you mean --listen?"));
  CHECK(mentions(the_fault(keeper({"--owner", "x"}).faults, "--owner"), "did you mean --owner-url?"));
  CHECK(mentions(the_fault(keeper({"somewhere.json"}).faults, "\"somewhere.json\""), "flags begin with --"));
}

TEST_CASE("A command that there is not is the only fault, and those that there are are named") {
  CHECK(mentions(the_fault(keeper({"--level", "info", "migarte", "--from", "3"}).faults, "\"migarte\""), "migrate?"));
  CHECK(mentions(the_fault(keeper({"serve", "--unheard"}).faults, "\"serve\""),
                 "is not a command, and flags begin with --; there is: migrate, audit verify, audit list"));
  CHECK(mentions(the_fault(keeper({"audit", "everything"}).faults, "\"everything\""), "audit verify, audit list"));
  CHECK(keeper({"migarte"}).unknown_command);
  CHECK_FALSE(keeper({"--loud", "serve"}).unknown_command);  // more likely a value too many
  CHECK_FALSE(keeper({"migrate", "everything"}).unknown_command);
  CHECK(mentions(keeper({"audit"}).faults.front().text, "is not a complete command"));
}

}  // namespace
}  // namespace sluice::program
