// What the command line asks for beside serving: help, the version, keys.
#include <algorithm>
#include <cctype>
#include <string>

#include "common/base/version.hpp"
#include "tests/unit/agent/config_reading.hpp"

using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;
using program::mentions;
using Command = Config::Command;

TEST_CASE("--help names every flag with its default and its variable, and is given whatever else is wrong") {
  const Config config = good({"--help", "--workers", "zero", "--nonsense"});
  CHECK(config.command == Command::help);
  for (const std::string_view flag : {"policies",
                                      "counters",
                                      "redis-password-file",
                                      "redis-sentinel-password-file",
                                      "redis-sentinel-login-file",
                                      "redis-tls-ca",
                                      "redis-tls-cert",
                                      "redis-tls-key",
                                      "insecure-redis",
                                      "redis-deadline",
                                      "max-in-flight",
                                      "listen",
                                      "insecure-listen",
                                      "listen-unix",
                                      "admin",
                                      "workers",
                                      "headers",
                                      "decision-log",
                                      "no-snapshot",
                                      "metrics-policy-label",
                                      "metrics-aliases",
                                      "log-level",
                                      "drain-timeout",
                                      "check-config"}) {
    std::string variable = "SLUICE_AGENT_" + std::string(flag);
    std::ranges::transform(variable, variable.begin(),
                           [](char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
    CAPTURE(flag);
    CHECK(mentions(config.text, "--" + std::string(flag)));
    CHECK(mentions(config.text, "env: " + variable + "]"));
  }
  for (const std::string_view part : {"default: redis://127.0.0.1:6379/0", "default: 127.0.0.1:8088", "default: 25ms",
                                      "default: 10000", "mint-key", "Examples:", "--version", "Exit status"}) {
    CAPTURE(part);
    CHECK(mentions(config.text, part));
  }
}

TEST_CASE("--version says the version") {
  const Config config = good({"--version"});
  CHECK(config.command == Command::version);
  CHECK(mentions(config.text, std::string(version())));
  CHECK(config.text.ends_with("\n"));
}

TEST_CASE("mint-key takes an id, a tenant and a name") {
  const Config config = good({"mint-key", "--id", "prod-app", "--tenant", "shop", "--name", "Prod \"app\""});
  CHECK(config.command == Command::mint_key);
  CHECK(config.mint.id == "prod-app");
  CHECK(config.mint.tenant == "shop");
  CHECK(config.mint.name == "Prod \"app\"");
  CHECK(good({"mint-key"}).mint.id.empty());
  CHECK(good({"mint-key"}).mint.tenant == "default");
  CHECK(good({"mint-key"}, {"SLUICE_AGENT_MINT_KEY_TENANT=shop"}).mint.tenant == "shop");
}

TEST_CASE("mint-key reports all its faults, and has a help of its own") {
  const Faults faults =
      faulty({"mint-key", "--id", "Bad_Id", "--tenant", "", "--name", std::string(257, 'x'), "--idd", "x"});
  CHECK(faults.size() == 4);
  CHECK(mentions(all_of(faults), "[a-z0-9][a-z0-9.-]{0,62}"));
  const Config help = good({"mint-key", "--help"});
  CHECK(help.command == Command::help);
  CHECK(mentions(help.text, "--tenant"));
  CHECK(mentions(help.text, "SLUICE_AGENT_MINT_KEY_TENANT"));
  CHECK_FALSE(mentions(help.text, "--counters"));
}

TEST_CASE("mint-key does not care how the agent would be configured") {
  CHECK(good({"mint-key"}, {"SLUICE_AGENT_WORKERS=zero", "SLUICE_AGENT_LISTEN=nowhere"}).command == Command::mint_key);
}
