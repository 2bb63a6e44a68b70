#include "server/injector/settings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "agent/flag_table.hpp"
#include "server/injector/quantity.hpp"
#include "tests/unit/server/injector/fixture.hpp"

namespace sluice::server::injector {
namespace {

std::string variable_of(std::string_view flag) {
  std::string name = "SLUICE_AGENT_";
  for (const char c : flag) name += c == '-' ? '_' : static_cast<char>(c - ('a' <= c && c <= 'z' ? 32 : 0));
  return name;
}

std::string value_in(const Outcome& outcome, std::string_view name) {
  for (const Node& one : outcome.after.at("/spec/initContainers/0/env").items) {
    if (one.at("/name").text == name) return one.at("/value").text;
  }
  return "";
}

}  // namespace

TEST_CASE("every setting of the allow-list is a flag of the agent of the same name, or an amount") {
  for (const PodSetting& one : pod_settings()) {
    CAPTURE(one.name);
    if (one.variable.empty()) continue;
    const bool known = std::ranges::any_of(agent::kFlags, [&](const auto& flag) { return flag.name == one.name; });
    CHECK(known);
    CHECK(one.variable == variable_of(one.name));
  }
}

TEST_CASE("annotations on the allow-list set what the agent and its container have") {
  const Outcome outcome = run(annotated(
      R"("sluice.dev/log-level":"debug","sluice.dev/log-format":"text","sluice.dev/decision-log":"sample=0.1",
         "sluice.dev/decision-log-to":"syslog:tcp://logs.example.com:601","sluice.dev/headers":"x,draft6",
         "sluice.dev/workers":"2","sluice.dev/redis-deadline":"50ms","sluice.dev/cpu-request":"0.5",
         "sluice.dev/memory-request":"32Mi","sluice.dev/memory-limit":"128M","sluice.dev/cpu-limit":"1000m")"));
  CHECK(outcome.made.warnings.empty());
  CHECK(value_in(outcome, "SLUICE_AGENT_LOG_LEVEL") == "debug");
  CHECK(value_in(outcome, "SLUICE_AGENT_LOG_FORMAT") == "text");
  CHECK(value_in(outcome, "SLUICE_AGENT_DECISION_LOG") == "sample=0.1");
  CHECK(value_in(outcome, "SLUICE_AGENT_DECISION_LOG_TO") == "syslog:tcp://logs.example.com:601");
  CHECK(value_in(outcome, "SLUICE_AGENT_HEADERS") == "x,draft6");
  CHECK(value_in(outcome, "SLUICE_AGENT_WORKERS") == "2");
  CHECK(value_in(outcome, "SLUICE_AGENT_REDIS_DEADLINE") == "50ms");
  CHECK(outcome.text("/spec/initContainers/0/resources") ==
        R"({"requests":{"cpu":"500m","memory":"32Mi"},"limits":{"cpu":"1","memory":"128M"}})");
}

TEST_CASE("a pod may choose every family of headers that the agent has") {
  for (const std::string list : {"none", "x", "ietf", "ietf-next", "draft6", "retry-after", "x,ietf,draft6,retry-after",
                                 "x,ietf-next,draft6,retry-after"}) {
    CAPTURE(list);
    const Outcome outcome = run(annotated(R"("sluice.dev/headers":")" + list + "\""));
    CHECK(outcome.made.warnings.empty());
    CHECK(value_in(outcome, "SLUICE_AGENT_HEADERS") == list);
  }
}

TEST_CASE("the decision log of a pod may go wherever its container can send it") {
  for (const std::string place : {"stdout", "stderr", "syslog:udp://logs:514", "syslog:tcp://[fd00::1]:601"}) {
    CAPTURE(place);
    const Outcome outcome = run(annotated(R"("sluice.dev/decision-log-to":")" + place + "\""));
    CHECK(outcome.made.warnings.empty());
    CHECK(value_in(outcome, "SLUICE_AGENT_DECISION_LOG_TO") == place);
  }
}

TEST_CASE("a faulty annotation is a warning that names it, its value and the rule, and the default stands") {
  const struct {
    const char* name;
    const char* value;
    const char* says;
  } rows[] = {
      {"log-level", "verbose", "is \"verbose\" and must be debug, info, warn or error"},
      {"log-format", "xml", "auto, json or text"},
      {"decision-log", "some", "sample=SHARE"},
      {"decision-log-to", "syslog:tcp://logs",
       "must be stdout, stderr, syslog:udp://HOST:PORT or syslog:tcp://HOST:PORT"},
      {"decision-log-to", "syslog", "no folder and no socket"},
      {"decision-log-to", "syslog:unix:/dev/log", "no folder and no socket"},
      {"decision-log-to", "file:/var/lib/sluice/decisions.log", "no folder and no socket"},
      {"headers", "x,y", "a list of x, one of ietf and ietf-next, draft6 and retry-after"},
      {"headers", "x,ietf,ietf-next", "one of ietf and ietf-next"},
      {"headers", "ietf-next,ietf", "one of ietf and ietf-next"},
      {"headers", "", "a list of"},
      {"workers", "0", "1 to 256"},
      {"workers", "2 ", "1 to 256"},
      {"max-in-flight", "1000001", "1 to 1000000"},
      {"max-wait", "11m", "0s to 10m"},
      {"max-waiting", "100001", "0 to 100000"},
      {"redis-deadline", "11s", "1ms to 10s"},
      {"redis-deadline", "500us", "1ms to 10s"},
      {"max-snapshot-age", "500ms", "1s to 8760h"},
      {"no-snapshot", "maybe", "deny or allow"},
      {"otlp-endpoint", "collector:4318", "the URL of a collector"},
      {"otlp-endpoint", "unix:/run/collector.sock", "the URL of a collector"},
      {"trace-sample", "1.5", "a number from 0 to 1"},
      {"trace-sample", "1%", "a number from 0 to 1"},
      {"metrics-policy-label", "yes", "true or false"},
      {"metrics-aliases", "yes", "true or false"},
      {"cpu-request", "65", "1m to 64"},
      {"cpu-request", "0.0001", "1m to 64"},
      {"cpu-request", "-1", "1m to 64"},
      {"memory-limit", "1Mi", "8Mi to 64Gi"},
      {"memory-limit", "64 Mi", "8Mi to 64Gi"},
      {"image", "evil:1", "is not a setting"},
      {"server", "https://evil", "is not a setting"},
      {"log-levle", "debug", "did you mean log-level?"},
      {"inject", "disabled", "is a label, not an annotation"},
  };
  const Outcome plain = run(pod());
  for (const auto& row : rows) {
    CAPTURE(row.name);
    CAPTURE(row.value);
    const Outcome outcome = run(annotated(fmt::format(R"("sluice.dev/{}":"{}")", row.name, row.value)));
    REQUIRE(outcome.made.warnings.size() == 1);
    const std::string& warning = outcome.made.warnings[0];
    CHECK_MESSAGE(warning.find(row.says) != std::string::npos, warning);
    CHECK(warning.starts_with(fmt::format("sluice.dev/{} ", row.name)));
    CHECK(outcome.text("/spec/initContainers") == plain.text("/spec/initContainers"));
    CHECK(outcome.annotation("sluice.dev/warnings") == warning);
  }
}

TEST_CASE("amounts that contradict each other are all ignored: the API server would refuse the pod") {
  const Outcome outcome = run(annotated(R"("sluice.dev/memory-request":"128Mi","sluice.dev/log-level":"warn")"));
  REQUIRE(outcome.made.warnings.size() == 1);
  CHECK(outcome.made.warnings[0].find("memory-request 128Mi is more than memory-limit 64Mi") != std::string::npos);
  CHECK(outcome.text("/spec/initContainers/0/resources/requests/memory") == R"("16Mi")");
  CHECK(value_in(outcome, "SLUICE_AGENT_LOG_LEVEL") == "warn");
  CHECK(run(annotated(R"("sluice.dev/cpu-limit":"5m")")).made.warnings.size() == 1);
}

TEST_CASE("annotations of others are none of ours") {
  CHECK(run(annotated(R"("other.dev/log-level":"loud","sluice.dev":"x")")).made.warnings.empty());
}

TEST_CASE("a warning holds no control characters: it becomes a header") {
  const Outcome outcome = run(annotated(R"("sluice.dev/log-level":"a\nb\u0000")"));
  REQUIRE(outcome.made.warnings.size() == 1);
  for (const char c : outcome.made.warnings[0]) CHECK(static_cast<unsigned char>(c) >= ' ');
}

TEST_CASE("amounts are read as Kubernetes reads them, and written as it writes them") {
  CHECK(parse_cpu("250m") == 250);
  CHECK(parse_cpu("2") == 2'000);
  CHECK(parse_cpu("0.001") == 1);
  CHECK(parse_memory("64Mi") == 64LL << 20);
  CHECK(parse_memory("1.5Gi") == 3LL << 29);
  CHECK(parse_memory("128M") == 128'000'000);
  CHECK(parse_memory("3k") == 3'000);
  CHECK(parse_memory("1000") == 1'000);
  for (const char* const wrong :
       {"", "m", "1.", ".5", "1.2.3", "+1", "1e3", "1u", "99999999999999999999", "0", "0.0005"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_cpu(wrong).has_value());
  }
  for (const char* const wrong : {"", "Mi", "1.0000001Ki", "1mi", "9999999999Pi", "0", "1Ei"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_memory(wrong).has_value());
  }
  CHECK(cpu_text(2'000) == "2");
  CHECK(cpu_text(1'500) == "1500m");
  CHECK(memory_text(3LL << 29) == "1536Mi");
  CHECK(memory_text(128'000'000) == "128M");
  CHECK(memory_text(64LL << 20) == "64Mi");
  CHECK(memory_text(1'000'000) == "1M");
  CHECK(memory_text(3'000) == "3k");
  CHECK(memory_text(1'001) == "1001");
}

}  // namespace sluice::server::injector
