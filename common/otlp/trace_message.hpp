// OTLP's messages: ExportTraceServiceRequest and the answer to it (opentelemetry-proto 1.x, collector/trace/v1).
//
// Pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/tracing/span.hpp"

namespace sluice::otlp {

// What sends the spans: service.name, service.version, …. Valid UTF-8.
using Resource = std::vector<std::pair<std::string, std::string>>;

// An ExportTraceServiceRequest with these spans, in the scope "sluice".
std::string trace_message(const Resource& resource, std::span<const std::unique_ptr<tracing::Span>> spans);

// How many spans the collector says it has rejected, by an ExportTraceServiceResponse; 0 for all other texts.
std::uint64_t rejected_spans(std::string_view response);

}  // namespace sluice::otlp
