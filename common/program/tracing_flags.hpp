// Reads where spans are sent and which traces are recorded: two flags, and OpenTelemetry's own variables (OTEL_…).
// A flag wins over the variables.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/otlp/exporter.hpp"
#include "common/program/config_reader.hpp"
#include "common/program/flags.hpp"

namespace sluice::program {

// Rows for the program's flag table.
inline constexpr FlagSpec kOtlpEndpoint{
    "otlp-endpoint",
    "Telemetry",
    "URL",
    "",
    "Send traces to this OpenTelemetry collector, by OTLP over HTTP: http://HOST[:PORT] or https://…, to which "
    "/v1/traces is added. Without it and without OTEL_EXPORTER_OTLP_TRACES_ENDPOINT nothing is traced. The other "
    "variables OTEL_… hold as well.",
    "OTEL_EXPORTER_OTLP_ENDPOINT"};
inline constexpr FlagSpec kTraceSample{
    "trace-sample", "Telemetry", "SHARE", "",
    "Share of requests to trace whose caller has not decided that with a traceparent: 0 to 1. Instead of "
    "OTEL_TRACES_SAMPLER. Default: 1."};

// Who sends the spans, unless OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say otherwise.
struct TracingService {
  std::string name;      // of all instances: "sluice-agent"
  std::string instance;  // of this one
};

// Returns nullopt if the program shall not trace. Records faults in `reader`; no fault shows a header.
std::optional<otlp::Options> read_tracing(ConfigReader& reader, const Environment& environment,
                                          const TracingService& service);

}  // namespace sluice::program
