#include "agent/config.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "tests/unit/agent/config_reading.hpp"

using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;
using namespace std::chrono_literals;
using program::mentions;
using Command = Config::Command;

TEST_CASE("Without flags the documented defaults hold") {
  const Config config = good({});
  CHECK(config.command == Command::run);
  CHECK(config.policies_file.empty());
  CHECK_FALSE(config.allow_without_snapshot);
  REQUIRE(config.redis.has_value());
  CHECK(redis::to_string(config.redis->target) == "redis://127.0.0.1:6379/0");
  CHECK(config.redis->deadline == 25ms);
  CHECK(config.redis->password_file.empty());
  CHECK(config.listen == "127.0.0.1:8088");
  CHECK(config.listen_unix.empty());
  CHECK(config.admin == "0.0.0.0:9088");
  CHECK(config.metrics_listen.empty());
  CHECK(config.metrics_token_file.empty());
  CHECK(config.workers == 1);
  CHECK(config.max_in_flight == 10'000);
  CHECK(config.headers.x);
  CHECK(config.headers.ietf);
  CHECK_FALSE(config.headers.draft6);
  CHECK(config.decision_log == telemetry::DecisionLogMode{});
  CHECK(config.log_level == telemetry::LogLevel::info);
  CHECK(config.drain_timeout == 20s);
  CHECK_FALSE(config.metrics_policy_label);
}

TEST_CASE("Every flag arrives in the configuration") {
  const Folder folder;
  const std::string file = folder.file("bundle.json");
  const Config config = good({"--policies",
                              file,
                              "--counters",
                              "rediss://me:@redis.test:6380/3",
                              "--redis-password-file",
                              folder.file("password"),
                              "--redis-tls-ca",
                              folder.file("ca.pem"),
                              "--redis-tls-cert",
                              folder.file("cert.pem"),
                              "--redis-tls-key",
                              folder.file("key.pem"),
                              "--redis-deadline",
                              "40ms",
                              "--max-in-flight",
                              "77",
                              "--listen",
                              "0.0.0.0:80",
                              "--insecure-listen",
                              "--listen-unix",
                              folder.path("check.sock"),
                              "--admin",
                              "127.0.0.1:81",
                              "--workers",
                              "4",
                              "--headers",
                              "draft6,x",
                              "--decision-log",
                              "sample=0.1",
                              "--log-format",
                              "text",
                              "--no-snapshot",
                              "allow",
                              "--metrics-policy-label",
                              "--log-level",
                              "debug",
                              "--drain-timeout",
                              "1m"});
  CHECK(config.command == Command::run);
  CHECK(config.policies_file == file);
  REQUIRE(config.redis.has_value());
  CHECK(redis::to_string(config.redis->target) == "rediss://me@redis.test:6380/3");
  CHECK(config.redis->password_file == folder.path("password"));
  CHECK(config.redis->tls_ca_file == folder.path("ca.pem"));
  CHECK(config.redis->tls_cert_file == folder.path("cert.pem"));
  CHECK(config.redis->tls_key_file == folder.path("key.pem"));
  CHECK(config.redis->deadline == 40ms);
  CHECK(config.max_in_flight == 77);
  CHECK(config.listen == "0.0.0.0:80");
  CHECK(config.listen_unix == folder.path("check.sock"));
  CHECK(config.admin == "127.0.0.1:81");
  CHECK(config.workers == 4);
  CHECK(config.headers.x);
  CHECK_FALSE(config.headers.ietf);
  CHECK(config.headers.draft6);
  CHECK(config.decision_log.kind == telemetry::DecisionLogMode::Kind::sample);
  CHECK(config.decision_log.every == 10);
  CHECK(config.log_format == telemetry::LogFormat::text);
  CHECK(config.allow_without_snapshot);
  CHECK(config.metrics_policy_label);
  CHECK(config.log_level == telemetry::LogLevel::debug);
  CHECK(config.drain_timeout == 1min);
}

TEST_CASE("Counters live in memory only where memory is asked for") {
  CHECK_FALSE(good({"--counters", "memory"}).redis.has_value());
  CHECK(good({"--counters", "unix:/run/redis.sock?db=2"}).redis->target.path == "/run/redis.sock");
  CHECK(good({"--counters", "redis://u:p%40ss@localhost"}).redis->target.password == "p@ss");
  for (const std::string counters : {"Memory", "mem", "127.0.0.1:6379", "http://h", "redis://"}) {
    CAPTURE(counters);
    CHECK(mentions(only_fault("--counters", {"--counters", counters}), "must be memory or the URL of a Redis"));
  }
}

TEST_CASE("Every flag has an environment variable, and the flag wins over it") {
  CHECK(good({}, {"SLUICE_AGENT_WORKERS=3"}).workers == 3);
  CHECK(good({"--workers", "4"}, {"SLUICE_AGENT_WORKERS=3"}).workers == 4);
  CHECK(good({}, {"SLUICE_AGENT_MAX_IN_FLIGHT=5"}).max_in_flight == 5);
  CHECK(good({}, {"SLUICE_AGENT_LISTEN=0.0.0.0:8088", "SLUICE_AGENT_INSECURE_LISTEN=true"}).listen == "0.0.0.0:8088");
  for (const std::string yes : {"true", "1"}) {
    CHECK(good({}, {"SLUICE_AGENT_METRICS_POLICY_LABEL=" + yes}).metrics_policy_label);
  }
  for (const std::string no : {"false", "0", ""}) {
    CHECK_FALSE(good({}, {"SLUICE_AGENT_METRICS_POLICY_LABEL=" + no}).metrics_policy_label);
  }
  CHECK(good({}, {"SLUICE_AGENT_WORKERS="}).workers == 1);  // empty counts as not set
}

TEST_CASE("The mode of an agent is that of its flag, of its variable, or of RATE_LIMIT_MODE, in this order") {
  CHECK(good({}).mode == Mode::enforce);
  CHECK(good({"--mode", "shadow"}).mode == Mode::shadow);
  CHECK(good({}, {"RATE_LIMIT_MODE=on"}).mode == Mode::enforce);
  CHECK(good({}, {"RATE_LIMIT_MODE=monitor"}).mode == Mode::shadow);
  CHECK(good({}, {"RATE_LIMIT_MODE=off"}).mode == Mode::off);
  CHECK(good({}, {"RATE_LIMIT_MODE="}).mode == Mode::enforce);
  CHECK(good({}, {"RATE_LIMIT_MODE=off", "SLUICE_AGENT_MODE=shadow"}).mode == Mode::shadow);
  CHECK(good({"--mode", "enforce"}, {"RATE_LIMIT_MODE=off", "SLUICE_AGENT_MODE=shadow"}).mode == Mode::enforce);
  const Faults faults = faulty({}, {"RATE_LIMIT_MODE=quiet"});
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].pointer == "RATE_LIMIT_MODE");
  CHECK(mentions(faults[0].text, "enforce (on), shadow (monitor), off"));
}

TEST_CASE("Variables that are no flag do not matter, such as those Kubernetes makes beside a service") {
  const Config config = good(
      {}, {"SLUICE_AGENT_PORT=tcp://10.0.0.1:8088", "SLUICE_AGENT_SERVICE_HOST=10.0.0.1", "SLUICE_AGENT_VERSION=0.1.0",
           "SLUICE_AGENT_HELP=1", "SLUICE_AGENT_WORKERSX=9", "XSLUICE_AGENT_WORKERS=9", "NONSENSE"});
  CHECK(config.command == Command::run);
  CHECK(config.workers == 1);
}

TEST_CASE("All faults are reported at once, each by its flag or variable, with the value, the rule and the fix") {
  const Faults faults = faulty({"--listen",
                                "localhost",
                                "--workers",
                                "0",
                                "--policies",
                                "/nowhere/b.json",
                                "--polices",
                                "x",
                                "--redis-deadline",
                                "fast",
                                "--headers",
                                "x,y",
                                "--no-snapshot",
                                "maybe",
                                "--log-level",
                                "loud",
                                "--log-format",
                                "xml",
                                "--decision-log",
                                "some",
                                "--insecure-listen=perhaps",
                                "stray"},
                               {"SLUICE_AGENT_MAX_IN_FLIGHT=many", "SLUICE_AGENT_ADMIN=1.2.3.4"});
  const auto has = [&](const std::string& source, std::initializer_list<std::string_view> parts) {
    const auto found = std::ranges::find(faults, source, &Fault::pointer);
    CAPTURE(source);
    REQUIRE(found != faults.end());
    for (const std::string_view part : parts) {
      CAPTURE(found->text);
      CHECK(mentions(found->text, part));
    }
  };
  has("--listen", {"\"localhost\"", "ADDRESS:PORT", "127.0.0.1:8088"});
  has("--workers", {"\"0\"", "1 to 256"});
  has("--policies", {"/nowhere/b.json", "cannot be read", "No such file"});
  has("--polices", {"is not a flag", "did you mean --policies?"});
  has("--redis-deadline", {"\"fast\"", "1ms to 10s", "25ms"});
  has("--headers", {"\"x,y\"", "x, ietf, ietf-next, draft6 and retry-after"});
  has("--no-snapshot", {"\"maybe\"", "deny or allow"});
  has("--log-level", {"\"loud\"", "debug, info, warn or error"});
  has("--log-format", {"\"xml\"", "auto, json or text"});
  has("--decision-log", {"\"some\"", "off, denied, all, or sample=SHARE", "such as sample=0.01"});
  has("--insecure-listen", {"\"perhaps\"", "true, false, 1 or 0"});
  has("SLUICE_AGENT_MAX_IN_FLIGHT", {"\"many\"", "1 to 1000000"});
  has("SLUICE_AGENT_ADMIN", {"\"1.2.3.4\"", "ADDRESS:PORT"});
  has("\"stray\"", {"is not a flag or the value of one"});
  CHECK(faults.size() == 14);
}

TEST_CASE("Numbers and durations keep to their ranges") {
  CHECK(mentions(only_fault("--workers", {"--workers", "257"}), "1 to 256"));
  CHECK(good({"--workers", "256"}).workers == 256);
  CHECK(mentions(only_fault("--max-in-flight", {"--max-in-flight", "1000001"}), "1 to 1000000"));
  CHECK(good({"--max-in-flight", "1000000"}).max_in_flight == 1'000'000);
  CHECK(good({}).max_waiting == 1'000);
  CHECK(good({}).max_wait == std::chrono::seconds(30));
  CHECK(good({"--max-waiting", "0", "--max-wait", "0s"}).max_waiting == 0);
  CHECK(mentions(only_fault("--max-waiting", {"--max-waiting", "100001"}), "0 to 100000"));
  CHECK(mentions(only_fault("--max-wait", {"--max-wait", "11m"}), "0s to 10m"));
  for (const std::string deadline : {"0ms", "11s"}) {
    CHECK(mentions(only_fault("--redis-deadline", {"--redis-deadline", deadline}), "1ms to 10s"));
  }
  CHECK(good({"--redis-deadline", "1ms"}).redis->deadline == 1ms);
  CHECK(good({"--redis-deadline", "10s"}).redis->deadline == 10s);
  CHECK(mentions(only_fault("--drain-timeout", {"--drain-timeout", "11m"}), "0s to 10m"));
  CHECK(good({"--drain-timeout", "0s"}).drain_timeout == 0ms);
}

TEST_CASE("Checks are served to others only where that was said in so many words") {
  for (const std::string address : {"0.0.0.0:8088", "10.0.0.1:8088", "[::]:8088", "[2001:db8::1]:8088",
                                    "[::ffff:10.0.0.1]:8088", "128.0.0.1:8088"}) {
    CAPTURE(address);
    CHECK(mentions(only_fault("--listen", {"--listen", address}), "--insecure-listen"));
    CHECK(good({"--listen", address, "--insecure-listen"}).listen == address);
  }
  for (const std::string address : {"127.0.0.1:8088", "127.8.9.1:1", "[::1]:8088", "[::ffff:127.0.0.1]:8088"}) {
    CAPTURE(address);
    CHECK(good({"--listen", address}).listen == address);
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

TEST_CASE("Checks and the admin plane are served at numeric addresses") {
  CHECK(mentions(only_fault("--listen", {"--listen", "localhost:8088"}), "must be ADDRESS:PORT"));
  CHECK(mentions(only_fault("--admin", {"--admin", "localhost:9088"}), "must be ADDRESS:PORT"));
  CHECK(good({"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}).listen == "127.0.0.1:0");
}

TEST_CASE("One port cannot serve both checks and the admin plane") {
  CHECK(mentions(only_fault("--admin", {"--listen", "127.0.0.1:7000", "--admin", "0.0.0.0:7000"}), "port of --listen"));
}

TEST_CASE("A Unix socket's path is short enough, in a folder that is there, and hides no other file") {
  const Folder folder;
  CHECK(mentions(only_fault("--listen-unix", {"--listen-unix", "/tmp/" + std::string(120, 'x')}), "107 bytes"));
  CHECK(mentions(only_fault("--listen-unix", {"--listen-unix", folder.path("none/s.sock")}), "folder"));
  CHECK(mentions(only_fault("--listen-unix", {"--listen-unix", folder.file("data")}), "not a socket"));
  CHECK(good({"--listen-unix", folder.path("s.sock")}).listen_unix == folder.path("s.sock"));
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un stale{.sun_family = AF_UNIX, .sun_path = {}};
  folder.path("stale.sock").copy(stale.sun_path, sizeof stale.sun_path - 1);
  REQUIRE(::bind(descriptor, reinterpret_cast<const sockaddr*>(&stale), sizeof stale) == 0);
  ::close(descriptor);
  CHECK(good({"--listen-unix", folder.path("stale.sock")}).listen_unix == folder.path("stale.sock"));
}

TEST_CASE("A Unix socket's mode is octal, and lets its owner connect") {
  const Folder folder;
  const std::string path = folder.path("s.sock");
  CHECK(good({"--listen-unix", path}).listen_unix_mode == 0660);
  CHECK(good({"--listen-unix", path, "--listen-unix-mode", "0666"}).listen_unix_mode == 0666);
  CHECK(good({"--listen-unix", path, "--listen-unix-mode", "600"}).listen_unix_mode == 0600);
  for (const char* mode : {"66", "0066", "0468", "1666", "00666", "rw-rw----", "0x1ff"}) {
    CAPTURE(mode);
    CHECK(mentions(only_fault("--listen-unix-mode", {"--listen-unix", path, "--listen-unix-mode", mode}), "octal"));
  }
  CHECK(mentions(only_fault("--listen-unix-mode", {"--listen-unix-mode", "0666"}), "--listen-unix"));
}

TEST_CASE("Every file named must be there") {
  const Folder folder;
  const std::string missing = folder.path("missing");
  CHECK(mentions(only_fault("--policies", {"--policies", missing}), "cannot be read"));
  CHECK(mentions(only_fault("--redis-password-file", {"--redis-password-file", missing}), "cannot be read"));
  CHECK(mentions(only_fault("--redis-tls-ca", {"--counters", "rediss://h", "--redis-tls-ca", missing}),
                 "cannot be read"));
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

TEST_CASE("Header families are a list, or none") {
  const auto families = [](const std::string& list) {
    const HeaderFamilies headers = good({"--headers", list}).headers;
    return (headers.x ? 1 : 0) + (headers.ietf ? 2 : 0) + (headers.draft6 ? 4 : 0) + (headers.retry_after ? 8 : 0) +
           (headers.ietf_next ? 16 : 0);
  };
  CHECK(families("x") == 1);
  CHECK(families("ietf") == 2);
  CHECK(families("draft6") == 4);
  CHECK(families("x,ietf,draft6") == 7);
  CHECK(families("x,retry-after") == 9);
  CHECK(families("x,ietf-next") == 17);
  CHECK(families("none") == 0);
  for (const std::string list : {"x,", ",x", "x,,ietf", "X", "x ietf", "x,none", "ietf_next"}) {
    CAPTURE(list);
    only_fault("--headers", {"--headers", list});
  }
}

TEST_CASE("The two revisions of the IETF headers exclude each other, and are off unless named") {
  CHECK_FALSE(good({}).headers.ietf_next);
  for (const std::string list : {"ietf,ietf-next", "ietf-next,x,ietf"}) {
    CAPTURE(list);
    CHECK(mentions(only_fault("--headers", {"--headers", list}), "keep one"));
  }
}

TEST_CASE("--check-config needs a bundle to check") {
  const Folder folder;
  CHECK(mentions(only_fault("--policies", {"--check-config"}), "needs the bundle"));
  CHECK(good({"--check-config", "--policies", folder.file("b.json")}).command == Command::check_config);
}

TEST_CASE("Metrics have a listener and a token of their own, where that is asked for") {
  const Folder folder;
  const Config config = good({"--metrics-listen", "127.0.0.1:9099", "--metrics-token-file", folder.file("token")});
  CHECK(config.metrics_listen == "127.0.0.1:9099");
  CHECK(config.metrics_token_file == folder.path("token"));
  CHECK(mentions(only_fault("--metrics-listen", {"--metrics-listen", "127.0.0.1:8088"}), "the port of --listen"));
  CHECK(mentions(only_fault("--metrics-listen", {"--metrics-listen", "127.0.0.1:9088"}), "the port of --admin"));
  CHECK(mentions(only_fault("--metrics-listen", {"--metrics-listen", "somewhere"}), "ADDRESS:PORT"));
  CHECK(mentions(only_fault("--metrics-token-file", {"--metrics-token-file", folder.path("none")}), "cannot be read"));
}

TEST_CASE("The machine itself is trusted as a proxy, unless the flag says otherwise") {
  const api::TrustedProxies standard = good({}).authz.proxies;
  CHECK(standard.unix_socket);
  CHECK(standard.contains(*parse_ip("127.0.0.1")));
  CHECK_FALSE(standard.contains(*parse_ip("10.0.0.1")));
  const Config named = good({"--trusted-proxies", "10.0.0.0/8", "--authz-map", "x-user-id=subject"});
  CHECK_FALSE(named.authz.proxies.unix_socket);
  CHECK_FALSE(named.authz.proxies.contains(*parse_ip("127.0.0.1")));
  CHECK(named.authz.map.at(0).header == "x-user-id");
}

TEST_CASE("Faulty flags about proxies are named") {
  CHECK(mentions(only_fault("--trusted-proxies", {"--trusted-proxies", "localhost"}), "must be a list of loopback"));
  CHECK(mentions(only_fault("--authz-map", {"--authz-map", "x-user"}), "must be a list of HEADER=FIELD"));
  CHECK(mentions(only_fault("--authz-map", {"--trusted-proxies", "none", "--authz-map", "x-a=user"}), "has no use"));
}
