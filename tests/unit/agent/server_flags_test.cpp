// The flags of an agent that takes its policies from a server.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/config.hpp"
#include "common/domain/credential.hpp"
#include "common/program/config_reader.hpp"
#include "tests/unit/program/invocation.hpp"

namespace sluice::agent {
namespace {

using namespace std::chrono_literals;
using program::Texts;

struct Given {
  Given() {
    char name[] = "/tmp/sluice-flags-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    folder = name;
    token = folder + "/token";
    std::ofstream(token) << mint_key("agents", CredentialKind::agent_token);
  }
  ~Given() { std::filesystem::remove_all(folder); }

  std::expected<Config, Faults> read(Texts arguments, const Texts& environment = {}) const {
    arguments.insert(arguments.begin(), {"--agent-token-file", token});
    const program::Invocation invocation(arguments, environment);
    return read_config(invocation.argc(), invocation.argv(), invocation.environment());
  }
  std::string faults(const Texts& arguments) const {
    const auto config = read(arguments);
    return config ? "" : program::describe(config.error(), "faulty", "sluice-agent");
  }

  std::string folder;
  std::string token;
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_CASE("an agent of a server has no mode of its own") {
  const Given given;
  CHECK(has(given.faults({"--server", "https://sluice.example", "--mode", "shadow"}), "has no use with --server"));
}

TEST_CASE("checks are recorded only for a server that can ask, and each worker needs some memory for them") {
  const Given given;
  const Texts server{"--server", "https://sluice.example"};
  CHECK(given.read(server)->record_decisions == 0);
  const auto with = [&](Texts more) {
    more.insert(more.begin(), server.begin(), server.end());
    return more;
  };
  CHECK(given.read(with({"--record-decisions", "4MiB"}))->record_decisions == 4U << 20U);
  CHECK(has(given.faults(with({"--record-decisions", "1kB"})), "64kB to 256MiB"));
  CHECK(has(given.faults(with({"--record-decisions", "64kB", "--workers", "8"})), "must be 262144 bytes or more"));
  const program::Invocation alone({"--record-decisions", "4MiB"}, {});
  const auto config = read_config(alone.argc(), alone.argv(), alone.environment());
  REQUIRE_FALSE(config);
  CHECK(has(program::describe(config.error(), "faulty", "sluice-agent"), "has no use without --server"));
}

TEST_CASE("an agent of a server knows where it is, who it is, and how it reports") {
  const Given given;
  const auto config = given.read({"--server", "https://sluice.example", "--snapshot-cache", given.folder + "/kept",
                                  "--max-snapshot-age", "10m", "--report-interval", "1s", "--agent-id", "a1"},
                                 {"POD_NAME=shop-7f9"});
  REQUIRE(config);
  REQUIRE(config->server);
  CHECK(to_string(config->server->sync.server) == "https://sluice.example:443");
  CHECK(config->server->token_file == given.token);
  CHECK(config->server->cache == given.folder + "/kept");
  CHECK(config->server->max_age == 10min);
  CHECK(config->server->sync.report_interval == 1s);
  CHECK(config->server->sync.agent_id == "a1");
  CHECK(config->server->sync.pod == "shop-7f9");
  const auto plain = given.read({"--server", "http://127.0.0.1:8080"});
  REQUIRE(plain);
  CHECK(plain->server->max_age == 0s);
  CHECK_FALSE(plain->server->sync.agent_id.empty());
}

TEST_CASE("a token does not cross the network in clear unless that is meant") {
  const Given given;
  CHECK(has(given.faults({"--server", "http://sluice.example"}), "add --insecure-server"));
  CHECK(has(given.faults({"--server", "http://10.0.0.1:80"}), "in clear"));
  CHECK(has(given.faults({"--server", "http://127.evil.example"}), "in clear"));
  for (const char* url : {"http://127.0.0.1:1", "http://[::1]:1", "http://localhost", "https://10.0.0.1"}) {
    CHECK(given.faults({"--server", url}).empty());
  }
  CHECK(given.faults({"--server", "http://sluice.example", "--insecure-server"}).empty());
}

TEST_CASE("faulty flags of a server are named with their rule") {
  const Given given;
  CHECK(has(given.faults({}), "--agent-token-file: "));  // without a server
  CHECK(has(given.faults({"--server", "here"}), "--server: must be https://"));
  CHECK(has(given.faults({"--server", "unix:/x"}), "--server: must be https://"));
  CHECK(has(given.faults({"--server", "https://a", "--policies", given.token}), "--policies: "));
  CHECK(has(given.faults({"--server", "https://a", "--server-tls-cert", given.token}), "--server-tls-key"));
  CHECK(has(given.faults({"--server", "http://[::1]", "--server-tls-ca", given.token}), "without --server https://"));
  CHECK(has(given.faults({"--server", "https://a", "--snapshot-cache", "/nowhere/at/all"}), "--snapshot-cache: "));
  CHECK(has(given.faults({"--server", "https://a", "--snapshot-cache", given.folder}), "is a directory"));
  CHECK(has(given.faults({"--server", "https://a", "--max-snapshot-age", "1ms"}), "--max-snapshot-age: "));
  CHECK(has(given.faults({"--server", "https://a", "--agent-id", "a b"}), "--agent-id: "));
  CHECK(has(given.faults({"--server", "https://a", "--pod", "\xc3\xbc"}), "--pod: "));
}

TEST_CASE("a token file is looked into at the start, and its content is never shown") {
  const Given given;
  std::ofstream(given.token) << "slk_secret";
  CHECK(has(given.faults({"--server", "https://a"}), "holds no agent token"));
  CHECK_FALSE(has(given.faults({"--server", "https://a"}), "slk_secret"));
  std::ofstream(given.token) << mint_key("agents", CredentialKind::agent_token);
  REQUIRE(::chmod(given.token.c_str(), 0606) == 0);
  CHECK(has(given.faults({"--server", "https://a"}), "chmod o-w"));
  std::filesystem::remove(given.token);
  CHECK(has(given.faults({"--server", "https://a"}), "cannot be read"));
}

TEST_CASE("with TLS others may reach it") {
  const Given given;
  const std::string file = given.token;  // is only read at the start
  CHECK(has(given.faults({"--server", "https://a", "--listen", "0.0.0.0:1"}), "add --tls-cert"));
  CHECK(
      given.faults({"--server", "https://a", "--listen", "0.0.0.0:1", "--tls-cert", file, "--tls-key", file}).empty());
  CHECK(has(given.faults({"--server", "https://a", "--tls-cert", file}), "add --tls-key"));
}

TEST_CASE("the login to Redis comes from the server where it is asked to, and is kept beside the policies") {
  const Given given;
  const std::string cache = given.folder + "/kept";
  const Texts good{"--server", "https://a", "--snapshot-cache", cache, "--redis-password-from-server"};
  const auto with = [](Texts flags, const Texts& more) {
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  };
  const auto config = given.read(with(good, {"--counters", "rediss://redis:6379/0"}));
  REQUIRE(config);
  CHECK(config->redis->login_file == cache + ".redis");
  CHECK(config->server->login_file == cache + ".redis");
  CHECK(given.read({"--server", "https://a"})->redis->login_file.empty());
  CHECK(has(given.faults({"--server", "https://a", "--redis-password-from-server"}), "add --snapshot-cache"));
  CHECK(has(given.faults(with(good, {"--counters", "memory"})), "has no use with --counters memory"));
  CHECK(has(given.faults(with(good, {"--counters", "redis://u:secret@localhost"})), "conflicts with the password"));
  CHECK_FALSE(has(given.faults(with(good, {"--counters", "redis://u:secret@localhost"})), "secret"));
  const std::string password = given.folder + "/password";
  std::ofstream(password) << "x";
  CHECK(has(given.faults(with(good, {"--redis-password-file", password})), "conflicts with the password"));
  CHECK(has(given.faults(with(good, {"--redis-user", "me"})), "has no use with --redis-password-from-server"));
}

TEST_CASE("the token may be a service account's") {
  const Given given;
  std::ofstream(given.token, std::ios::trunc) << "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJzbHVpY2UifQ.c2ln\n";
  CHECK(given.read({"--server", "https://a"}));
}

}  // namespace
}  // namespace sluice::agent
