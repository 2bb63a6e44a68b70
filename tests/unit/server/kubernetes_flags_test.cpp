// The flags of Kubernetes and of the certificate kept there: what they come to, and every fault of them at once.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "server/config.hpp"
#include "tests/unit/http/certificate_maker.hpp"
#include "tests/unit/program/invocation.hpp"

namespace sluice::server {
namespace {

using namespace std::chrono_literals;
using program::Texts;

std::expected<Config, Faults> configured(Texts arguments, Texts environment = {}) {
  arguments.insert(arguments.end(), {"--database-url", "postgresql://sluice_app@localhost/sluice"});
  const program::Invocation invocation(std::move(arguments), std::move(environment));
  return read_config(invocation.argc(), invocation.argv(), invocation.environment());
}

std::set<std::string> faulty(const Texts& arguments) {
  const auto read = configured(arguments);
  std::set<std::string> names;
  if (read) return names;
  for (const Fault& each : read.error()) names.insert(each.pointer);
  return names;
}

struct Files {
  Files() {
    folder.write("token", "t");
    folder.write("ca.crt", "c");
  }
  Texts with(const Texts& more) const {
    Texts all{"--kubernetes",    "https://api:6443",    "--kubernetes-token-file", folder.path("token"),
              "--kubernetes-ca", folder.path("ca.crt"), "--kubernetes-namespace",  "sluice-system"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  sluice::http::Folder folder;
};

TEST_CASE("without Kubernetes nothing is asked of it, and its flags have no use") {
  const auto plain = configured({});
  REQUIRE(plain);
  CHECK_FALSE(plain->kubernetes.api);
  CHECK_FALSE(plain->kubernetes.self_managed);
  CHECK(faulty({"--kubernetes-namespace", "x", "--tls-secret", "y", "--tls-self-managed", "a"}) ==
        std::set<std::string>{"--kubernetes-namespace", "--tls-self-managed"});
  CHECK(faulty({"--tls-secret", "y", "--webhook-configuration", "z"}) ==
        std::set<std::string>{"--tls-secret", "--webhook-configuration"});
}

TEST_CASE("a cluster is named by its URL, a token and a namespace") {
  const Files files;
  const auto read = configured(files.with({}));
  REQUIRE(read);
  REQUIRE(read->kubernetes.api);
  CHECK(to_string(read->kubernetes.api->server) == "https://api:6443");
  CHECK(read->kubernetes.api->namespace_ == "sluice-system");
  CHECK(faulty({"--kubernetes", "https://api"}) ==
        std::set<std::string>{"--kubernetes-token-file", "--kubernetes-namespace"});
  CHECK(faulty({"--kubernetes", "http://api"}) == std::set<std::string>{"--kubernetes"});
  CHECK(faulty({"--kubernetes", "in-cluster"}) == std::set<std::string>{"--kubernetes"});
}

TEST_CASE("a certificate of its own needs names, and serves where others can reach it") {
  const Files files;
  const auto read = configured(files.with({"--tls-self-managed", "b.svc,a.svc,0:0::1", "--listen", "0.0.0.0:8080",
                                           "--tls-lifetime", "24h", "--webhook-configuration", "sluice-injector"}));
  REQUIRE(read);
  REQUIRE(read->kubernetes.self_managed);
  const auto& keeping = *read->kubernetes.self_managed;
  CHECK(keeping.wanted.names == std::vector<std::string>{"::1", "a.svc", "b.svc"});
  CHECK(keeping.wanted.lifetime == 24h);
  CHECK(keeping.namespace_ == "sluice-system");
  CHECK(keeping.secret == "sluice-tls");
  CHECK(keeping.webhooks == "sluice-injector");
}

TEST_CASE("a name without a dot is a Service of the server's namespace, whatever that is") {
  const Files files;
  Texts words = files.with({"--tls-self-managed", "sluice-server,localhost,10.0.0.1,::1", "--listen", "0.0.0.0:8080"});
  *(std::ranges::find(words, "--kubernetes-namespace") + 1) = "limits";
  const auto read = configured(words);
  REQUIRE(read);
  CHECK(read->kubernetes.self_managed->wanted.names ==
        std::vector<std::string>{"10.0.0.1", "::1", "localhost", "sluice-server", "sluice-server.limits",
                                 "sluice-server.limits.svc", "sluice-server.limits.svc.cluster.local"});
}

TEST_CASE("all faults of a certificate of its own are told at once") {
  const Files files;
  files.folder.write("tls.crt", "x");
  CHECK(faulty(files.with({"--tls-self-managed", "Upper,a", "--tls-secret", "a/b", "--tls-look-every", "1us",
                           "--tls-lifetime", "1000h", "--tls-ca-lifetime", "2000h", "--webhook-configuration", "ä",
                           "--tls-cert", files.folder.path("tls.crt")})) ==
        std::set<std::string>{"--tls-self-managed", "--tls-secret", "--tls-look-every", "--tls-ca-lifetime",
                              "--webhook-configuration", "--tls-cert"});
  for (const char* names : {"a,,b", "a b", "-a", "a.", "*.a", "DNS:a"}) {
    CAPTURE(names);
    CHECK(faulty(files.with({"--tls-self-managed", names})) == std::set<std::string>{"--tls-self-managed"});
  }
}

TEST_CASE("an authority's file is of use with a certificate's") {
  const Files files;
  CHECK(faulty({"--tls-ca", files.folder.path("ca.crt")}) == std::set<std::string>{"--tls-ca"});
}

TEST_CASE("make-secrets is for the cluster it runs in, unless another is named") {
  const Files files;
  const program::Invocation outside({"make-secrets"});
  const auto refused = read_config(outside.argc(), outside.argv(), outside.environment());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().text.find("KUBERNETES_SERVICE_HOST") != std::string::npos);
  Texts arguments = files.with({"--database-host", "db:5433"});
  arguments.insert(arguments.begin(), "make-secrets");
  const program::Invocation named(arguments);
  const auto read = read_config(named.argc(), named.argv(), named.environment());
  REQUIRE(read);
  CHECK(read->command == Config::Command::make_secrets);
  CHECK(read->secrets.database_host == "db:5433");
  CHECK(read->secrets.database_name == "sluice");
  CHECK(read->secrets.api.namespace_ == "sluice-system");
}

}  // namespace
}  // namespace sluice::server
