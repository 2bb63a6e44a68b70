#include "common/program/unknown_variables.hpp"

#include <vector>

#include "tests/unit/program/keeper.hpp"

namespace sluice::program {
namespace {

constexpr std::array kAgentFlags{FlagSpec{"listen", "", "ADDR", "", ""}, FlagSpec{"workers", "", "N", "", ""},
                                 FlagSpec{"server", "", "URL", "", ""}, FlagSpec{"help", "", "", "false", ""}};
constexpr std::array kMintFlags{FlagSpec{"tenant", "", "ID", "", ""}};
constexpr std::array kAgentCommands{Command{"", "", "", kAgentFlags}, Command{"mint-key", "", "", kMintFlags}};
constexpr Program kAgent{"sluice-agent", "SLUICE_AGENT_", kAgentCommands};

Faults found(const std::vector<std::string>& variables) {
  std::vector<const char*> entries;
  for (const std::string& each : variables) entries.push_back(each.c_str());
  entries.push_back(nullptr);
  return unknown_variables(kAgent, Environment(entries.data()));
}

std::string text(const std::string& variable) {
  const Faults faults = found({variable});
  return faults.size() == 1 ? faults[0].text : "";
}

TEST_CASE("a misspelt variable is named with the one that was probably meant, and without its value") {
  const Faults faults = found({"SLUICE_AGENT_LISTNE=secret", "SLUICE_AGENT_WORKERS=2"});
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].pointer == "SLUICE_AGENT_LISTNE");
  CHECK(faults[0].text ==
        "The environment variable SLUICE_AGENT_LISTNE is not a flag's, and has no effect: did you mean "
        "SLUICE_AGENT_LISTEN?");
}

TEST_CASE("a variable without the program's name, or of a command's flag, is found too") {
  CHECK(text("SLUICE_LISTEN=1").ends_with("did you mean SLUICE_AGENT_LISTEN?"));
  CHECK(text("SLUICE_SERVER=http://s").ends_with("did you mean SLUICE_AGENT_SERVER?"));
  CHECK(text("SLUICE_AGENT_MINT_KEY_TENNANT=shop").ends_with("did you mean SLUICE_AGENT_MINT_KEY_TENANT?"));
  CHECK(text("SLUICE_AGENT_MINT_KEY_TENANT=shop").empty());
  CHECK(text("SLUICE_NOTHING_LIKE_IT=1").ends_with("sluice-agent --help lists the flags."));
}

TEST_CASE("what Kubernetes sets for a Service is no mistake") {
  for (const char* name :
       {"SLUICE_SERVER_SERVICE_HOST=10.0.0.1", "SLUICE_AGENT_SERVICE_PORT=8088", "SLUICE_AGENT_SERVICE_PORT_HTTPS=8088",
        "SLUICE_AGENT_PORT=tcp://10.0.0.1:8088", "SLUICE_AGENT_PORT_8088_TCP=tcp://10.0.0.1:8088",
        "SLUICE_AGENT_PORT_8088_TCP_PROTO=tcp", "SLUICE_GATEWAY_PORT_53_UDP_ADDR=10.0.0.1",
        "SLUICE_REDIS_SERVICE_HOST=10.0.0.1", "SLUICE_REDIS_PORT=tcp://10.0.0.1:6379"}) {
    CAPTURE(name);
    CHECK(found({name}).empty());
  }
  CHECK_FALSE(found({"SLUICE_AGENT_PORT=8088"}).empty());
  CHECK_FALSE(found({"SLUICE_AGENT_PORT_OF_IT=1"}).empty());
}

TEST_CASE("variables of the other program, of applications, of scripts and of others are left alone") {
  CHECK(found({"SLUICE_SERVER_LISTEN=x", "SLUICE_URL=http://127.0.0.1:8088", "SLUICE_API_KEY=x", "SLUICE_ON_ERROR=deny",
               "SLUICE_RUN_DIR=/r", "SLUICE_AGENT_BIN=/b", "SLUICE_VALKEY=/v", "SLUICE_KUBE_REQUIRED=1",
               "SLUICE_AGENT_VERSION=1", "SLUICE_AGENT_LISTNE=", "LISTEN=1", "XSLUICE_AGENT_LISTNE=1", "NONSENSE"})
            .empty());
}

}  // namespace
}  // namespace sluice::program
