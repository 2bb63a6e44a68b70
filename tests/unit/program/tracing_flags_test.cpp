#include "common/program/tracing_flags.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>

#include "tests/unit/program/invocation.hpp"

namespace sluice::program {
namespace {

using namespace std::chrono_literals;

constexpr std::array kFlags{kOtlpEndpoint, kTraceSample};
constexpr std::array kCommands{Command{.name = "", .description = "", .footer = "", .flags = kFlags}};
constexpr Program kProgram{.name = "sluice-test", .environment_prefix = "SLUICE_TEST_", .commands = kCommands};

struct Read {
  std::optional<otlp::Options> options;
  Faults faults;
};

Read read(Texts arguments, Texts environment = {}) {
  const Invocation invocation(std::move(arguments), std::move(environment));
  const Flags flags = read_flags(kProgram, invocation.argc(), invocation.argv(), invocation.environment());
  ConfigReader reader(flags);
  Read result{.options = read_tracing(reader, invocation.environment(), {"sluice-test", "host-1"}), .faults = {}};
  result.faults = std::move(reader).take_faults();
  return result;
}

otlp::Options good(Texts arguments, Texts environment = {}) {
  const Read result = read(std::move(arguments), std::move(environment));
  for (const Fault& fault : result.faults) FAIL_CHECK(fault.pointer << ": " << fault.text);
  REQUIRE(result.options);
  return *result.options;
}

// The only fault, as "POINTER: TEXT".
std::string fault_of(Texts arguments, Texts environment = {}) {
  const Read result = read(std::move(arguments), std::move(environment));
  REQUIRE(result.faults.size() == 1);
  return result.faults[0].pointer + ": " + result.faults[0].text;
}

const std::string kOn = "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318";

TEST_CASE("Without an endpoint nothing is traced, whatever the other variables say") {
  const Read result = read({}, {"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_TRACES_SAMPLER=nonsense"});
  CHECK_FALSE(result.options);
  CHECK(result.faults.empty());
}

TEST_CASE("The path /v1/traces is added to an endpoint, but not to that of the traces alone") {
  CHECK(good({"--otlp-endpoint", "http://collector:4318"}).target == "/v1/traces");
  CHECK(good({"--otlp-endpoint", "https://collector/otlp/"}).target == "/otlp/v1/traces");
  CHECK(good({}, {kOn}).target == "/v1/traces");
  CHECK(good({}, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://collector:4318"}).target == "/");
  CHECK(good({}, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://collector:4318/a/b?c=1"}).target == "/a/b?c=1");
}

TEST_CASE("The flag wins over its own variable, that over the endpoint of traces, and that over the general one") {
  const std::string own = "SLUICE_TEST_OTLP_ENDPOINT=http://own";
  const std::string traces = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://traces/";
  CHECK(good({"--otlp-endpoint", "http://flag"}, {own, traces, kOn}).collector.host == "flag");
  CHECK(good({}, {own, traces, kOn}).collector.host == "own");
  CHECK(good({}, {traces, kOn}).collector.host == "traces");
  CHECK(good({}, {kOn}).collector.host == "collector");
}

TEST_CASE("Tracing is switched off by OTEL_SDK_DISABLED and by OTEL_TRACES_EXPORTER") {
  CHECK_FALSE(read({}, {kOn, "OTEL_SDK_DISABLED=true"}).options);
  CHECK_FALSE(read({"--trace-sample=0.1"}, {kOn, "OTEL_TRACES_EXPORTER=none"}).options);
  CHECK(read({}, {kOn, "OTEL_SDK_DISABLED=false", "OTEL_TRACES_EXPORTER=otlp"}).options);
  CHECK(fault_of({}, {kOn, "OTEL_TRACES_EXPORTER=jaeger"}) == "OTEL_TRACES_EXPORTER: \"jaeger\" must be otlp or none");
}

TEST_CASE("A faulty endpoint is refused with its rule") {
  for (const char* url : {"collector:4318", "ftp://collector", "http://", "http://collector:port", "http://a/b c",
                          "http://a/#b", "unix:/run/otlp.sock"}) {
    CAPTURE(url);
    CHECK(mentions(fault_of({"--otlp-endpoint", url}), "must be http://HOST[:PORT] or https://HOST[:PORT]"));
    CHECK(mentions(fault_of({}, {std::string("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=") + url}),
                   "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "));
  }
}

TEST_CASE("A share without an endpoint is refused, since it would do nothing") {
  CHECK(mentions(fault_of({"--trace-sample", "0.1"}), "has no use without --otlp-endpoint"));
}

TEST_CASE("Another protocol is refused by the name of its variable") {
  CHECK(mentions(fault_of({}, {kOn, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}),
                 "OTEL_EXPORTER_OTLP_PROTOCOL: \"grpc\" must be http/protobuf"));
  CHECK(mentions(fault_of({}, {kOn, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json"}),
                 "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "));
  good({}, {kOn, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf"});
}

TEST_CASE("The sampler is parent-based and takes all, unless a variable or the flag says otherwise") {
  using tracing::Sampler;
  CHECK(good({}, {kOn}).sampler == Sampler(true, 1));
  CHECK(good({}, {kOn, "OTEL_TRACES_SAMPLER=always_off"}).sampler == Sampler(false, 0));
  CHECK(good({}, {kOn, "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.25"}).sampler ==
        Sampler(false, 0.25));
  CHECK(good({}, {kOn, "OTEL_TRACES_SAMPLER=always_on", "OTEL_TRACES_SAMPLER_ARG=x"}).sampler == Sampler(false, 1));
  CHECK(good({"--trace-sample=0.01"}, {kOn, "OTEL_TRACES_SAMPLER=always_on"}).sampler == Sampler(true, 0.01));
  CHECK(mentions(fault_of({"--trace-sample=2"}, {kOn}), "--trace-sample: \"2\" must be a share from 0 to 1"));
  CHECK(mentions(fault_of({}, {kOn, "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=x"}),
                 "OTEL_TRACES_SAMPLER_ARG: \"x\" must be a share"));
  CHECK(mentions(fault_of({}, {kOn, "OTEL_TRACES_SAMPLER=xray"}), "OTEL_TRACES_SAMPLER: \"xray\" must be always_on"));
}

TEST_CASE("Headers are decoded, those of traces alone win, and a fault never shows their values") {
  using Headers = std::vector<std::pair<std::string, std::string>>;
  CHECK(good({}, {kOn, "OTEL_EXPORTER_OTLP_HEADERS=api-key=a%20b, x=1,"}).headers ==
        Headers{{"api-key", "a b"}, {"x", "1"}});
  CHECK(good({}, {kOn, "OTEL_EXPORTER_OTLP_HEADERS=a=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=b=2"}).headers ==
        Headers{{"b", "2"}});
  for (const char* headers : {"secret", "a=%zz-secret", "=secret", "a b=secret", "a=secret%0d%0ab: c", "a_b=secret"}) {
    CAPTURE(headers);
    const std::string fault = fault_of({}, {kOn, std::string("OTEL_EXPORTER_OTLP_HEADERS=") + headers});
    CHECK(mentions(fault, "OTEL_EXPORTER_OTLP_HEADERS: must be headers as name=value"));
    CHECK_FALSE(mentions(fault, "secret"));
  }
}

TEST_CASE("Times and sizes have OpenTelemetry's defaults and names") {
  const otlp::Options standard = good({}, {kOn});
  CHECK(standard.schedule_delay == 5s);
  CHECK(standard.request_timeout == 10s);
  CHECK(standard.export_timeout == 30s);
  CHECK(standard.queue_size == 2048);
  CHECK(standard.batch_size == 512);
  const otlp::Options own =
      good({}, {kOn, "OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_EXPORTER_OTLP_TIMEOUT=200", "OTEL_BSP_EXPORT_TIMEOUT=300",
                "OTEL_BSP_MAX_QUEUE_SIZE=64", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=32"});
  CHECK(own.schedule_delay == 100ms);
  CHECK(own.request_timeout == 200ms);
  CHECK(own.export_timeout == 300ms);
  CHECK(own.queue_size == 64);
  CHECK(own.batch_size == 32);
  CHECK(good({}, {kOn, "OTEL_BSP_MAX_QUEUE_SIZE=64"}).batch_size == 64);
  CHECK(mentions(fault_of({}, {kOn, "OTEL_BSP_SCHEDULE_DELAY=5s"}), "must be a whole number from 1 to 3600000"));
  CHECK(mentions(fault_of({}, {kOn, "OTEL_BSP_MAX_QUEUE_SIZE=8", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=9"}),
                 "OTEL_BSP_MAX_EXPORT_BATCH_SIZE: \"9\" must be at most OTEL_BSP_MAX_QUEUE_SIZE, which is 8"));
}

TEST_CASE("The resource names the service, its version and its instance, and takes further attributes") {
  const auto value = [](const otlp::Options& options, std::string_view name) {
    for (const auto& [each, text] : options.resource) {
      if (each == name) return text;
    }
    return std::string("absent");
  };
  const otlp::Options standard = good({}, {kOn});
  CHECK(value(standard, "service.name") == "sluice-test");
  CHECK(value(standard, "service.instance.id") == "host-1");
  CHECK(value(standard, "service.version") != "absent");
  const otlp::Options own =
      good({}, {kOn, "OTEL_RESOURCE_ATTRIBUTES=service.name=shop,deployment.environment.name=a%2Cb"});
  CHECK(value(own, "service.name") == "shop");
  CHECK(value(own, "deployment.environment.name") == "a,b");
  CHECK(value(good({}, {kOn, "OTEL_SERVICE_NAME=mine", "OTEL_RESOURCE_ATTRIBUTES=service.name=shop"}),
              "service.name") == "mine");
  CHECK(mentions(fault_of({}, {kOn, "OTEL_RESOURCE_ATTRIBUTES=a"}), "OTEL_RESOURCE_ATTRIBUTES: \"a\" must be"));
}

TEST_CASE("TLS files must be readable, and a client's certificate needs its key") {
  CHECK(mentions(fault_of({}, {kOn, "OTEL_EXPORTER_OTLP_CERTIFICATE=/nonexistent"}), "cannot be read"));
  CHECK(mentions(fault_of({}, {kOn, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=/dev/null"}), "needs the other of"));
  const otlp::Options both =
      good({}, {kOn, "OTEL_EXPORTER_OTLP_CERTIFICATE=/dev/zero", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=/dev/null",
                "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY=/dev/zero"});
  CHECK(both.tls.ca == "/dev/zero");
  CHECK(both.tls.chain == "/dev/null");
  CHECK(both.tls.key == "/dev/zero");
}

}  // namespace
}  // namespace sluice::program
