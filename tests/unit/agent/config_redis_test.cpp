// Flags about Redis, and secrets in flags.
#include "agent/config.hpp"

#include <string>

#include "tests/unit/agent/config_reading.hpp"

using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;
using program::mentions;

TEST_CASE("Counters live in memory only where memory is asked for") {
  CHECK_FALSE(good({"--counters", "memory"}).redis.has_value());
  CHECK(good({"--counters", "unix:/run/redis.sock?db=2"}).redis->target.path == "/run/redis.sock");
  CHECK(good({"--counters", "redis://u:p%40ss@localhost"}).redis->target.password == "p@ss");
  for (const std::string counters : {"Memory", "mem", "127.0.0.1:6379", "http://h", "redis://"}) {
    CAPTURE(counters);
    CHECK(mentions(only_fault("--counters", {"--counters", counters}), "must be memory or the URL of a Redis"));
  }
}

TEST_CASE("Redis on another machine needs TLS, unless clear text was allowed in so many words") {
  for (const std::string url : {"redis://redis.example:6379/0", "redis://10.0.0.1", "redis://127.evil.example",
                                "redis+sentinel://127.0.0.1,b/main", "redis+cluster://localhost,b"}) {
    CAPTURE(url);
    const std::string fault = only_fault("--counters", {"--counters", url});
    CHECK(mentions(fault, "in clear"));
    CHECK(mentions(fault, "write rediss://"));
    CHECK(mentions(fault, "--insecure-redis"));
    CHECK(good({"--counters", url, "--insecure-redis"}).redis.has_value());
    CHECK(good({"--counters", url}, {"SLUICE_AGENT_INSECURE_REDIS=true"}).redis.has_value());
  }
  CHECK(mentions(only_fault("--insecure-redis", {"--insecure-redis=perhaps"}), "true, false, 1 or 0"));
  CHECK(mentions(only_fault("SLUICE_AGENT_COUNTERS", {"--policies", "/dev/null"},
                            {"SLUICE_AGENT_COUNTERS=redis://u:hunter2@redis.example"}),
                 "to redis.example;"));
  for (const std::string url : {"redis://127.0.0.1", "redis://localhost", "redis://[::1]", "unix:/s", "memory",
                                "rediss://redis.example", "rediss+cluster://a,b"}) {
    CAPTURE(url);
    CHECK_NOTHROW(good({"--counters", url}));
  }
}

TEST_CASE("The sentinels of a URL have a login of their own") {
  const Folder folder;
  const std::string file = folder.file("f");
  const auto sentinel = [&](const std::string& flag) {
    return good({"--counters", "rediss+sentinel://u:p@a,b/shop", "--redis-tls-ca", file, flag, file});
  };
  const Config config = sentinel("--redis-sentinel-password-file");
  CHECK(redis::to_string(config.redis->target) == "rediss+sentinel://u@a:26379,b:26379/shop/0");
  CHECK(config.redis->sentinel_password_file == file);
  CHECK(config.redis->password_file.empty());
  CHECK(sentinel("--redis-sentinel-login-file").redis->sentinel_login_file == file);
  CHECK(mentions(only_fault("--redis-sentinel-password-file",
                            {"--counters", "redis+sentinel://localhost/shop", "--redis-sentinel-password-file", file,
                             "--redis-sentinel-login-file", file}),
                 "second password"));
  for (const std::string flag : {"--redis-sentinel-password-file", "--redis-sentinel-login-file"}) {
    for (const std::string counters : {"memory", "redis://localhost", "unix:/s"}) {
      CHECK(mentions(only_fault(flag, {"--counters", counters, flag, file}), "redis+sentinel://"));
    }
  }
  for (const std::string counters : {"redis+sentinel://a,b", "redis+sentinel://a,/shop"}) {
    CHECK(mentions(only_fault("--counters", {"--counters", counters}), "is missing"));
  }
}

TEST_CASE("Flags of Redis that would silently do nothing are refused") {
  const Folder folder;
  const std::string file = folder.file("f");
  CHECK(
      mentions(only_fault("--redis-password-file", {"--counters", "memory", "--redis-password-file", file}), "no use"));
  for (const std::string counters : {"memory", "redis://localhost", "unix:/s"}) {
    CAPTURE(counters);
    CHECK(mentions(only_fault("--redis-tls-ca", {"--counters", counters, "--redis-tls-ca", file}), "rediss://"));
  }
  CHECK(mentions(only_fault("--redis-tls-cert", {"--counters", "rediss://h", "--redis-tls-cert", file}),
                 "--redis-tls-key"));
  CHECK(mentions(only_fault("--redis-tls-key", {"--counters", "rediss://h", "--redis-tls-key", file}),
                 "--redis-tls-cert"));
  CHECK(mentions(
      only_fault("--redis-password-file", {"--counters", "redis://u:p@localhost", "--redis-password-file", file}),
      "second password"));
  CHECK(good({"--counters", "redis://u:@localhost", "--redis-password-file", file}).redis->password_file == file);
  CHECK(mentions(only_fault("--redis-user", {"--counters", "memory", "--redis-user", "u"}), "no use"));
  CHECK(
      mentions(only_fault("--redis-user", {"--counters", "redis://u:@localhost", "--redis-user", "u"}), "second user"));
  CHECK(mentions(only_fault("--redis-user", {"--counters", "redis://localhost", "--redis-user", "u\n"}),
                 "without spaces"));
}

TEST_CASE("The user of Redis is that of the URL or of its flag, on every topology") {
  for (const std::string url : {"redis://localhost", "redis+sentinel://localhost/m", "redis+cluster://localhost"}) {
    CAPTURE(url);
    CHECK(good({"--counters", url}).redis->target.user.empty());
    CHECK(good({"--counters", url, "--redis-user", "limits"}).redis->target.user == "limits");
  }
  CHECK(good({"--counters", "redis://u:@localhost"}).redis->target.user == "u");
}

TEST_CASE("No fault shows a secret, wherever it was put") {
  const Texts hostile[] = {
      {"--counters", "redis://user:hunter2@host:99999"},
      {"--counters", "redis://user:hunter2@ho st"},
      {"--counters", "http://user:hunter2@host"},
      {"--listen", "redis://user:hunter2@host"},
      {"--redis-url=redis://user:hunter2@host"},
      {"redis://user:hunter2@host"},
      {"--redis-password", "hunter2"},
      {"--workers", "user:hunter2@host"},
  };
  for (const Texts& arguments : hostile) {
    const std::string text = all_of(faulty(arguments));
    CAPTURE(text);
    CHECK_FALSE(mentions(text, "hunter2"));
  }
}

TEST_CASE("A password on the command line is warned about without being shown; one in a variable is not") {
  constexpr const char* kUrl = "redis://me:hunter2@127.0.0.1:6379";
  const Config config = good({"--counters", kUrl});
  REQUIRE(config.warnings.size() == 1);
  const Fault& warning = config.warnings[0];
  CHECK(warning.pointer == "--counters");
  CHECK(mentions(warning.text, "--counters"));
  CHECK(mentions(warning.text, "--redis-password-file"));
  CHECK(mentions(warning.text, "SLUICE_AGENT_COUNTERS"));
  CHECK_FALSE(mentions(warning.text, "hunter2"));
  CHECK(good({}, {std::string("SLUICE_AGENT_COUNTERS=") + kUrl}).warnings.empty());
  CHECK(good({"--counters", "redis://me:@127.0.0.1:6379"}).warnings.empty());
}
