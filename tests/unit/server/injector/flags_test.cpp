#include "server/injector/flags.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "server/config.hpp"

namespace sluice::server {
namespace {

using Words = std::vector<std::string>;

auto read(Words words) {
  Words all{"sluice-server", "--database-url", "postgresql://app@localhost/sluice"};
  std::ranges::move(words, std::back_inserter(all));
  std::vector<const char*> argv;
  for (const std::string& word : all) argv.push_back(word.c_str());
  const char* const none[] = {nullptr};
  return read_config(static_cast<int>(argv.size()), argv.data(), program::Environment(none));
}

// Everything a webhook needs, a certificate's files being any that can be read.
Words enough() {
  return {"--webhook",   "127.0.0.1:9443", "--tls-cert",           "/etc/passwd",       "--tls-key",
          "/etc/passwd", "--inject-image", "localhost/sluice:dev", "--inject-counters", "memory"};
}

Words with(Words more) {
  Words all = enough();
  for (std::size_t i = 0; i + 1 < more.size(); i += 2) {
    const auto found = std::ranges::find(all, more[i]);
    if (found != all.end()) all.erase(found, found + 2);
  }
  std::ranges::move(more, std::back_inserter(all));
  return all;
}

bool says(const Words& words, std::string_view flag, std::string_view text) {
  const auto config = read(words);
  if (config) return false;
  return std::ranges::any_of(config.error(), [&](const Fault& fault) {
    return fault.pointer == flag && fault.text.find(text) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("without --webhook there is no injector, and its flags have no use") {
  const auto config = read({});
  REQUIRE(config.has_value());
  CHECK_FALSE(config->injector.has_value());
  CHECK(says({"--inject-image", "x"}, "--inject-image", "has no use without --webhook"));
}

TEST_CASE("the injector's flags become settings") {
  const auto config = read(with({"--inject-counters", "rediss://redis:6380/1", "--inject-settings",
                                 "log-level=warn;headers=x,ietf;memory-limit=96Mi", "--inject-server-url",
                                 "https://limits.example:8443", "--inject-pull-policy", "Never"}));
  REQUIRE(config.has_value());
  REQUIRE(config->injector.has_value());
  const injector::InjectorSettings& made = config->injector->settings;
  CHECK(made.image == "localhost/sluice:dev");
  CHECK(made.counters == "rediss://redis:6380/1");
  CHECK(made.server_url == "https://limits.example:8443");
  CHECK(made.pull_policy == "Never");
  CHECK(made.own_namespace == "sluice-system");
  CHECK(made.sidecar.variables.at("SLUICE_AGENT_HEADERS") == "x,ietf");
  CHECK(made.sidecar.memory_limit_bytes == 96LL << 20);
}

TEST_CASE("agents count where the server counts, without its login, unless a flag says otherwise") {
  const auto counted = [](const Words& more) -> std::pair<std::string, std::string> {
    Words words = enough();
    words.erase(std::ranges::find(words, "--inject-counters"), words.end());
    words.emplace_back("--insecure-redis");
    std::ranges::move(more, std::back_inserter(words));
    const auto config = read(words);
    REQUIRE(config.has_value());
    return {config->injector->settings.counters, config->injector->counters_ca_file};
  };
  using Made = std::pair<std::string, std::string>;
  CHECK(counted({"--counters", "redis://me:hidden@redis:6380/1"}) == Made{"redis://redis:6380/1", ""});
  CHECK(counted({"--counters", "redis+cluster://a,b", "--redis-user", "me"}) ==
        Made{"redis+cluster://a:6379,b:6379", ""});
  CHECK(counted({"--counters", "rediss+sentinel://me:@a,b/m", "--redis-tls-ca", "/etc/passwd"}) ==
        Made{"rediss+sentinel://a:26379,b:26379/m/0", "/etc/passwd"});
  CHECK(counted({"--counters", "redis+sentinel://a,b/m"}).first == "redis+sentinel://a:26379,b:26379/m/0");
  const auto own = read(with({"--counters", "rediss://me:@redis", "--redis-tls-ca", "/etc/passwd"}));
  REQUIRE(own.has_value());
  CHECK(own->injector->settings.counters == "memory");
  CHECK(own->injector->counters_ca_file.empty());
  const Words without_counters{"--webhook",   "127.0.0.1:9443", "--tls-cert",           "/etc/passwd",     "--tls-key",
                               "/etc/passwd", "--inject-image", "localhost/sluice:dev", "--insecure-redis"};
  CHECK(says(without_counters, "--inject-counters", "is missing"));
  for (const Words& counters :
       {Words{"--counters", "unix:/run/redis"}, Words{"--counters", "redis://127.0.0.1"},
        Words{"--counters", "redis://localhost:6380/1"},
        Words{"--counters", "redis+sentinel://a,b/m", "--redis-sentinel-login-file", "/etc/passwd"},
        Words{"--counters", "rediss://a", "--redis-tls-cert", "/etc/passwd"}}) {
    Words unreachable = without_counters;
    std::ranges::copy(counters, std::back_inserter(unreachable));
    CHECK(says(unreachable, "--inject-counters", "pods cannot use the Redis of --counters"));
  }
}

TEST_CASE("agents find the server and a Redis of its namespace, whatever that is called") {
  const auto settings_of = [](const Words& more) {
    Words words = enough();
    words.erase(std::ranges::find(words, "--inject-counters"), words.end());
    std::ranges::copy(Words{"--insecure-redis", "--kubernetes", "https://api", "--kubernetes-token-file", "/etc/passwd",
                            "--kubernetes-namespace", "limits"},
                      std::back_inserter(words));
    std::ranges::copy(more, std::back_inserter(words));
    const auto config = read(words);
    REQUIRE(config.has_value());
    return config->injector->settings;
  };
  const injector::InjectorSettings made = settings_of({"--counters", "redis://sluice-redis:6379/0"});
  CHECK(made.own_namespace == "limits");
  CHECK(made.server_url == "https://sluice-server.limits.svc:8080");
  CHECK(made.counters == "redis://sluice-redis.limits.svc:6379/0");
  CHECK(settings_of({"--counters", "redis+cluster://nodes,a.b,10.0.0.1"}).counters ==
        "redis+cluster://nodes.limits.svc:6379,a.b:6379,10.0.0.1:6379");
  CHECK(settings_of({"--counters", "redis+sentinel://a,b.c/m"}).counters ==
        "redis+sentinel://a.limits.svc:26379,b.c:26379/m/0");
  CHECK(settings_of({"--counters", "redis://x.y", "--inject-counters", "redis://short"}).counters == "redis://short");
  const auto outside = read(enough());
  REQUIRE(outside.has_value());
  CHECK(outside->injector->settings.server_url == "https://sluice-server.sluice-system.svc:8080");
}

TEST_CASE("agents get leave for clear text where they need it and the server itself has it") {
  const auto allowed = [](Words words) {
    const auto config = read(std::move(words));
    REQUIRE(config.has_value());
    return config->injector->settings.insecure_redis;
  };
  const auto remote = with({"--inject-counters", "redis://redis.example:6379/0"});
  CHECK(says(remote, "--inject-counters", "to redis.example;"));
  CHECK(says(remote, "--inject-counters", "--insecure-redis"));
  Words insecure = remote;
  insecure.emplace_back("--insecure-redis");
  CHECK(allowed(insecure));
  Words of_server = enough();
  of_server.erase(std::ranges::find(of_server, "--inject-counters"), of_server.end());
  std::ranges::copy(Words{"--counters", "redis+cluster://a,b"}, std::back_inserter(of_server));
  CHECK(says(of_server, "--counters", "--insecure-redis"));
  CHECK_FALSE(says(of_server, "--inject-counters", ""));  // said once
  of_server.emplace_back("--insecure-redis");
  CHECK(allowed(of_server));
  // Without TLS is not what these are.
  for (const char* counters : {"memory", "rediss://redis.example", "redis://127.0.0.1"}) {
    Words words = with({"--inject-counters", counters});
    CHECK_FALSE(allowed(words));
    words.emplace_back("--insecure-redis");
    CHECK_FALSE(allowed(words));
  }
}

TEST_CASE("a name that only begins like a loopback address is a Redis that pods may reach") {
  Words words = enough();
  words.erase(std::ranges::find(words, "--inject-counters"), words.end());
  std::ranges::copy(Words{"--counters", "rediss://127.example"}, std::back_inserter(words));
  const auto config = read(words);
  REQUIRE(config.has_value());
  CHECK(config->injector->settings.counters == "rediss://127.example:6379/0");
}

TEST_CASE("what the injector cannot work with is refused at the start") {
  CHECK(says({"--webhook", "127.0.0.1:9443"}, "--webhook", "needs a certificate"));
  CHECK(says(with({"--webhook", "127.0.0.1:8080"}), "--webhook", "has the port of --listen"));
  CHECK(says(with({"--webhook", "9443"}), "--webhook", "must be ADDRESS:PORT"));
  CHECK(says(with({"--inject-image", "a b"}), "--inject-image", "visible ASCII"));
  CHECK(says(with({"--inject-pull-policy", "always"}), "--inject-pull-policy", "Always, IfNotPresent or Never"));
  CHECK(says(with({"--inject-server-url", "http://a"}), "--inject-server-url", "must be https://"));
  CHECK(says(with({"--inject-counters", "rediss://u:hidden@redis"}), "--inject-counters", "holds a password"));
  CHECK(says(with({"--inject-counters", "rediss+sentinel://u:hidden@a,b/m"}), "--inject-counters", "holds a password"));
  CHECK(says(with({"--inject-counters", "redis+sentinel://a,b"}), "--inject-counters", "HOST,HOST,HOST/NAME"));
  CHECK(says(with({"--inject-counters", "unix:/run/redis"}), "--inject-counters", "must be memory, redis://"));
  CHECK(says(with({"--inject-counters-ca", "/etc/passwd"}), "--inject-counters-ca", "has no use without"));
  CHECK(says(with({"--inject-settings", "log-level"}), "--inject-settings", "NAME=VALUE"));
  CHECK(says(with({"--inject-settings", "log-level=loud"}), "--inject-settings", "\"log-level\" must be debug"));
  CHECK(says(with({"--inject-settings", "image=x"}), "--inject-settings", "is not a setting"));
  CHECK(says(with({"--inject-settings", "memory-request=1Gi"}), "--inject-settings", "contradicts itself"));
  CHECK(says(with({"--inject-missed-every", "2s"}), "--inject-missed-every", "has no use without --kubernetes"));
}

}  // namespace sluice::server
