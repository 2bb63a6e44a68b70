// The flags about OpenID Connect: what they come to, and every fault of them at once.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "server/config.hpp"
#include "tests/unit/http/certificate_maker.hpp"
#include "tests/unit/program/invocation.hpp"

namespace sluice::server {
namespace {

using program::Texts;

std::expected<Config, Faults> configured(Texts arguments) {
  arguments.insert(arguments.end(), {"--database-url", "postgresql://sluice_app@localhost/sluice"});
  const program::Invocation invocation(std::move(arguments), {});
  return read_config(invocation.argc(), invocation.argv(), invocation.environment());
}

std::set<std::string> faulty(const Texts& arguments) {
  const auto read = configured(arguments);
  std::set<std::string> names;
  if (read) return names;
  for (const Fault& each : read.error()) names.insert(each.pointer);
  return names;
}

struct Provider {
  Provider() {
    folder.write("secret", "the secret\r\nmore\n");
    std::filesystem::permissions(folder.path("secret"), std::filesystem::perms::owner_read);
    folder.write("empty", "\n");
    std::filesystem::permissions(folder.path("empty"), std::filesystem::perms::owner_read);
    folder.write("open", "the secret\n");
    std::filesystem::permissions(folder.path("open"), std::filesystem::perms::all);
  }
  static Texts with(const Texts& more) {
    Texts all{"--oidc-issuer", "https://login.example.com", "--oidc-client-id", "sluice",
              "--console-url", "https://sluice.example.com"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  sluice::http::Folder folder;
};

}  // namespace

TEST_CASE("without an issuer nobody signs in by OpenID Connect, and its flags have no use") {
  const auto plain = configured({});
  REQUIRE(plain);
  CHECK_FALSE(plain->oidc);
  CHECK(faulty({"--oidc-client-id", "a", "--oidc-name", "b", "--oidc-groups-claim", "c", "--oidc-scopes", "openid"}) ==
        std::set<std::string>{"--oidc-client-id", "--oidc-name", "--oidc-groups-claim", "--oidc-scopes"});
}

TEST_CASE_FIXTURE(Provider, "an issuer and a client are enough") {
  const auto plain = configured(with({}));
  REQUIRE(plain);
  REQUIRE(plain->oidc);
  CHECK(plain->oidc->redirect_uri == "https://sluice.example.com/v1/console/oidc/callback");
  CHECK(plain->oidc->groups_claim == "groups");
  CHECK(plain->oidc->scopes == "openid profile email");
  CHECK(plain->oidc->name == "login.example.com");
  CHECK(oidc::read_secret(plain->oidc->secret_file).value().empty());
}

TEST_CASE_FIXTURE(Provider, "the secret is the first line of a file that others cannot read") {
  const auto read = configured(with({"--oidc-client-secret-file", folder.path("secret")}));
  REQUIRE(read);
  CHECK(oidc::read_secret(read->oidc->secret_file).value() == "the secret");
  for (const std::string name : {"empty", "open", "none"}) {
    CHECK(faulty(with({"--oidc-client-secret-file", folder.path(name)})).contains("--oidc-client-secret-file"));
  }
}

TEST_CASE_FIXTURE(Provider, "every fault is named") {
  CHECK(faulty({"--oidc-issuer", "https://login.example.com"}) ==
        std::set<std::string>{"--oidc-issuer", "--oidc-client-id"});  // the first one: no --console-url
  for (const std::string issuer : {"http://login.example.com", "login.example.com", "https://login.example.com/?a=b"}) {
    CHECK(faulty({"--oidc-issuer", issuer, "--oidc-client-id", "a", "--console-url", "https://a.example.com"}) ==
          std::set<std::string>{"--oidc-issuer"});
  }
  for (const std::string scopes : {"profile", "openid  profile", "openid ", "", "openid \"x\""}) {
    CHECK(faulty(with({"--oidc-scopes", scopes})) == std::set<std::string>{"--oidc-scopes"});
  }
  CHECK(faulty(with({"--oidc-groups-claim", ""})) == std::set<std::string>{"--oidc-groups-claim"});
  CHECK(faulty(with({"--oidc-ca", "/nowhere"})) == std::set<std::string>{"--oidc-ca"});
}

}  // namespace sluice::server
