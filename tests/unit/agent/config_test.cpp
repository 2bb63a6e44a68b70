#include "agent/config.hpp"

#include <initializer_list>
#include <string>

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
  CHECK_FALSE(config.metrics_aliases);
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
                              "--metrics-aliases",
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
  CHECK(config.metrics_aliases);
  CHECK(config.log_level == telemetry::LogLevel::debug);
  CHECK(config.drain_timeout == 1min);
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

TEST_CASE("Every file named must be there") {
  const Folder folder;
  const std::string missing = folder.path("missing");
  CHECK(mentions(only_fault("--policies", {"--policies", missing}), "cannot be read"));
  CHECK(mentions(only_fault("--redis-password-file", {"--redis-password-file", missing}), "cannot be read"));
  CHECK(mentions(only_fault("--redis-tls-ca", {"--counters", "rediss://h", "--redis-tls-ca", missing}),
                 "cannot be read"));
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
