// PostgreSQL and Redis on other machines need TLS, unless a flag allows clear text.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "server/config.hpp"
#include "tests/unit/program/invocation.hpp"

namespace sluice::server {
namespace {

using program::mentions;
using program::Texts;

std::expected<Config, Faults> configured(Texts arguments, Texts environment = {}) {
  const program::Invocation invocation(std::move(arguments), std::move(environment));
  return read_config(invocation.argc(), invocation.argv(), invocation.environment());
}

std::string only_fault(const std::string& source, const Texts& arguments, const Texts& environment = {}) {
  const auto config = configured(arguments, environment);
  REQUIRE_FALSE(config);
  REQUIRE(config.error().size() == 1);
  CHECK(config.error()[0].pointer == source);
  return config.error()[0].text;
}

// A command line for each command that connects to PostgreSQL.
std::vector<Texts> commands_with(const std::string& url) {
  return {{"--database-url", url},
          {"bootstrap", "--database-url", url},
          {"audit", "verify", "--database-url", url},
          {"migrate", "--database-url", url, "--database-owner-url", "postgresql://owner@localhost/sluice"}};
}

Texts with(Texts arguments, const std::string& more) {
  arguments.push_back(more);
  return arguments;
}

TEST_CASE("every command refuses a PostgreSQL that it may reach in clear text, and says what to add") {
  for (const std::string url : {"postgresql://app@db.example/sluice", "postgresql://app@10.0.0.1/sluice?sslmode=allow",
                                "postgresql://app@127.0.0.1,db.example/sluice", "host=db.example user=app",
                                "host=localhost hostaddr=10.0.0.1 user=app sslmode=disable"}) {
    for (const Texts& arguments : commands_with(url)) {
      CAPTURE(arguments[0]);
      CAPTURE(url);
      const std::string fault = only_fault("--database-url", arguments);
      CHECK(mentions(fault, "in clear"));
      CHECK(mentions(fault, "add sslmode=verify-full"));
      CHECK(mentions(fault, "--insecure-database"));
      CHECK(configured(with(arguments, "--insecure-database")));
      CHECK(configured(arguments, {"SLUICE_SERVER_INSECURE_DATABASE=true"}));
    }
  }
}

TEST_CASE("TLS, loopback and Unix sockets need no flag") {
  for (const std::string url :
       {"postgresql://app@db.example/sluice?sslmode=require", "postgresql://app@db.example/sluice?sslmode=verify-ca",
        "postgresql://app@a,b/sluice?sslmode=verify-full", "postgresql://app@127.0.0.1,localhost,[::1]/sluice",
        "postgresql:///sluice?host=/run/postgresql&user=app", "postgresql:///sluice?user=app",
        "host=db.example hostaddr=127.0.0.1 user=app"}) {
    for (const Texts& arguments : commands_with(url)) {
      CAPTURE(arguments[0]);
      CAPTURE(url);
      CHECK(configured(arguments));
    }
  }
}

TEST_CASE("the owner's URL is judged as the other, and no fault shows a password") {
  const std::string owner = "postgresql://owner:hunter2@db.example/sluice";
  for (const Texts& arguments :
       {Texts{"--database-url", "postgresql://app@localhost/sluice", "--database-owner-url", owner},
        Texts{"migrate", "--database-url", "postgresql://app@localhost/sluice", "--database-owner-url", owner}}) {
    const std::string fault = only_fault("--database-owner-url", arguments);
    CHECK(mentions(fault, "db.example"));
    CHECK_FALSE(mentions(fault, "hunter2"));
  }
  CHECK(mentions(only_fault("--insecure-database",
                            {"--database-url", "postgresql://app@db/s?sslmode=require", "--database-owner-url",
                             "postgresql://app@db/s?sslmode=require", "--insecure-database=perhaps"}),
                 "true, false, 1 or 0"));
  CHECK(mentions(only_fault("--database-url", {"--database-url", "postgresql://app@/s?service=nowhere"}), "service"));
}

TEST_CASE("the server's Redis is held to the agent's rule") {
  const Texts remote{"--database-url", "postgresql://app@localhost/s", "--counters", "redis://redis.example"};
  CHECK(mentions(only_fault("--counters", remote), "--insecure-redis"));
  CHECK(configured(with(remote, "--insecure-redis")));
  CHECK(configured(remote, {"SLUICE_SERVER_INSECURE_REDIS=1"}));
  CHECK(configured({"--database-url", "postgresql://app@localhost/s", "--counters", "rediss://redis.example"}));
}

TEST_CASE("the password of a client certificate's key is warned of as any other") {
  const std::string url = "postgresql://app@db/s?sslmode=verify-full&sslpassword=hunter2";
  const auto config = configured({"--database-url", url});
  REQUIRE(config);
  REQUIRE(config->warnings.size() == 1);
  CHECK(config->warnings[0].pointer == "--database-url");
  CHECK(mentions(config->warnings[0].text, "Put the whole value into the variable SLUICE_SERVER_DATABASE_URL"));
  CHECK_FALSE(mentions(config->warnings[0].text, "hunter2"));
  const auto hidden = configured({}, {"SLUICE_SERVER_DATABASE_URL=" + url});
  REQUIRE(hidden);
  CHECK(hidden->warnings.empty());
}

}  // namespace
}  // namespace sluice::server
