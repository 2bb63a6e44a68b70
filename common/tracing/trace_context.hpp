// The place of a request in a trace, as the headers `traceparent` and `tracestate` carry it between programs
// (W3C Trace Context, https://www.w3.org/TR/trace-context/).
//
// Thread safety: values and pure functions. Nothing here allocates, except what returns a std::string.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::tracing {

using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;

struct SpanContext {
  static constexpr std::uint8_t kSampled = 1;
  static constexpr std::uint8_t kKnown = 3;  // the flags of version 00: sampled, and that the trace's id is random

  TraceId trace_id{};
  SpanId span_id{};
  std::uint8_t flags = 0;

  bool sampled() const { return (flags & kSampled) != 0; }
  bool operator==(const SpanContext&) const = default;
};

// Returns nullopt for an invalid header, also for one with an id of zeros only.
std::optional<SpanContext> parse_traceparent(std::string_view header);

// In version 00.
std::string format_traceparent(const SpanContext& context);

// The fields of a traceparent header that all versions have (55 characters), or "" if they are invalid.
std::string_view valid_traceparent(std::string_view header);

// The 32 hex digits of the trace's id, or the 16 of the span's. REQUIRES: `traceparent` came from valid_traceparent()
// and is not empty.
inline std::string_view trace_id_of(std::string_view traceparent) { return traceparent.substr(3, 32); }
inline std::string_view span_id_of(std::string_view traceparent) { return traceparent.substr(36, 16); }

// The header tracestate, or "" if it has more than kMaxTracestate bytes or other characters than visible ASCII, space
// and tab. Its entries belong to other vendors and are passed on as they are.
inline constexpr std::size_t kMaxTracestate = 512;
std::string_view valid_tracestate(std::string_view header);

// Not zero; different in each thread and process.
TraceId random_trace_id();
SpanId random_span_id();

}  // namespace sluice::tracing
