#include "common/tracing/trace_context.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "common/base/crypto.hpp"

namespace sluice::tracing {
namespace {

constexpr std::size_t kTraceparentSize = 55;  // 00-<32 hex>-<16 hex>-<2 hex>

template <std::size_t Size>
bool is_zero(const std::array<std::uint8_t, Size>& id) {
  return std::ranges::all_of(id, [](std::uint8_t byte) { return byte == 0; });
}

// SplitMix64 (G. Steele et al., "Fast Splittable Pseudorandom Number Generators", 2014). Ids need to be unique, not
// secret.
std::uint64_t next_random() {
  thread_local std::uint64_t state = [] {
    std::array<std::uint8_t, 8> seed;
    random_bytes(seed);
    std::uint64_t value;
    std::memcpy(&value, seed.data(), sizeof value);
    return value;
  }();
  state += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  mixed ^= mixed >> 31;
  return mixed == 0 ? 1 : mixed;
}

}  // namespace

std::string_view valid_traceparent(std::string_view header) {
  const std::string_view value = header.substr(0, kTraceparentSize);
  if (value.size() < kTraceparentSize) return {};
  // Later versions may append fields after another dash (W3C Trace Context, 3.2.4); version 00 ends here.
  if (header.size() > kTraceparentSize && (header[kTraceparentSize] != '-' || value.starts_with("00"))) return {};
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    const bool dash = i == 2 || i == 35 || i == 52;
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (dash ? c != '-' : !hex) return {};
  }
  return value.starts_with("ff") ? std::string_view() : value;
}

std::optional<SpanContext> parse_traceparent(std::string_view header) {
  const std::string_view value = valid_traceparent(header);
  if (value.empty()) return std::nullopt;
  SpanContext context;
  from_hex(trace_id_of(value), context.trace_id);
  from_hex(span_id_of(value), context.span_id);
  from_hex(value.substr(53, 2), std::span(&context.flags, 1));
  if (is_zero(context.trace_id) || is_zero(context.span_id)) return std::nullopt;
  return context;
}

std::string format_traceparent(const SpanContext& context) {
  std::string text;
  text.reserve(kTraceparentSize);
  text.append("00-");
  append_hex(context.trace_id, text);
  text.push_back('-');
  append_hex(context.span_id, text);
  text.push_back('-');
  append_hex(ByteView(&context.flags, 1), text);
  return text;
}

std::string_view valid_tracestate(std::string_view header) {
  const auto allowed = [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); };
  return header.size() <= kMaxTracestate && std::ranges::all_of(header, allowed) ? header : std::string_view();
}

TraceId random_trace_id() {
  const std::array<std::uint64_t, 2> words{next_random(), next_random()};
  TraceId id;
  std::memcpy(id.data(), words.data(), id.size());
  return id;
}

SpanId random_span_id() {
  const std::uint64_t word = next_random();
  SpanId id;
  std::memcpy(id.data(), &word, id.size());
  return id;
}

}  // namespace sluice::tracing
