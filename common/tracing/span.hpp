// One span: a piece of work of a request, with its time, its place in the trace and what is known of it.
//
// A value; thread safety: none.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/tracing/trace_context.hpp"

namespace sluice::tracing {

// The numbers are those of OpenTelemetry's protocol.
enum class SpanKind : std::uint8_t { internal = 1, server = 2, client = 3 };
enum class SpanStatus : std::uint8_t { unset = 0, ok = 1, error = 2 };

struct Attribute {
  std::string_view name;  // from attribute_names.hpp, or another literal
  std::variant<std::string, std::int64_t, double, bool> value;

  bool operator==(const Attribute&) const = default;
};

class Span {
 public:
  // Longer texts are cut, so that a request cannot make a span large.
  static constexpr std::size_t kMaxText = 1024;
  static constexpr std::size_t kMaxLinks = 32;  // further ones are counted in dropped_links

  SpanContext context{};
  SpanId parent_id{};        // zeros: the span is the root of its trace
  std::string tracestate{};  // of the parent
  std::string name{};        // of few values: "POST /v1/check", not the path of a request
  SpanKind kind = SpanKind::internal;
  std::int64_t start_ns = 0;  // since the Unix epoch
  std::int64_t end_ns = 0;
  SpanStatus status = SpanStatus::unset;
  std::string status_text{};  // only with SpanStatus::error
  std::vector<Attribute> attributes{};
  std::vector<SpanContext> links{};  // of other traces that this work belongs to, at most kMaxLinks
  std::uint32_t dropped_links = 0;

  // An attribute for which there is no memory is left out: the work that the span describes goes on.
  // Invalid UTF-8 is replaced, because OTLP's receivers refuse all spans of a message with one invalid text.
  void set(std::string_view attribute, std::string_view text) noexcept;
  void set(std::string_view attribute, const char* text) noexcept { set(attribute, std::string_view(text)); }
  void set(std::string_view attribute, const std::string& text) noexcept { set(attribute, std::string_view(text)); }
  void set(std::string_view attribute, bool flag) noexcept { add(attribute, flag); }
  void set(std::string_view attribute, double number) noexcept { add(attribute, number); }
  template <std::integral Integer>
  void set(std::string_view attribute, Integer number) noexcept {
    add(attribute, static_cast<std::int64_t>(number));
  }

  void link(const SpanContext& other) noexcept;

  // Also sets error.type to `type`, a name that has few values: a class of errors, or an HTTP status.
  void fail(std::string_view type, std::string_view text = {}) noexcept;

 private:
  void add(std::string_view attribute, decltype(Attribute::value) value) noexcept;
};

}  // namespace sluice::tracing
