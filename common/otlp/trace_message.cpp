#include "common/otlp/trace_message.hpp"

#include <algorithm>
#include <type_traits>
#include <variant>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "common/base/version.hpp"

namespace sluice::otlp {
namespace {

using protozero::pbf_writer;
using tracing::Attribute;
using tracing::Span;

// The numbers of fields in opentelemetry/proto/{common,resource,trace}/v1.
enum RequestField { kResourceSpans = 1 };
enum ResourceSpansField { kResource = 1, kScopeSpans = 2 };
enum ResourceField { kResourceAttributes = 1 };
enum ScopeSpansField { kScope = 1, kSpans = 2 };
enum ScopeField { kScopeName = 1, kScopeVersion = 2 };
enum KeyValueField { kKey = 1, kValue = 2 };
enum AnyValueField { kString = 1, kBool = 2, kInt = 3, kDouble = 4 };
enum SpanField {
  kTraceId = 1,
  kSpanId = 2,
  kTraceState = 3,
  kParentSpanId = 4,
  kName = 5,
  kKind = 6,
  kStart = 7,
  kEnd = 8,
  kAttributes = 9,
  kLinks = 13,
  kDroppedLinks = 14,
  kStatus = 15,
  kFlags = 16
};
enum LinkField { kLinkTraceId = 1, kLinkSpanId = 2, kLinkFlags = 6 };
enum StatusField { kStatusMessage = 2, kStatusCode = 3 };
enum ResponseField { kPartialSuccess = 1 };
enum PartialSuccessField { kRejectedSpans = 1 };

template <std::size_t Size>
void add_id(pbf_writer& out, std::uint32_t field, const std::array<std::uint8_t, Size>& id) {
  out.add_bytes(field, reinterpret_cast<const char*>(id.data()), id.size());
}

void add_text(pbf_writer& out, std::uint32_t field, std::string_view text) {
  out.add_string(field, text.data(), text.size());
}

struct AddValue {
  pbf_writer& out;
  void operator()(const std::string& text) const { add_text(out, kString, text); }
  void operator()(bool flag) const { out.add_bool(kBool, flag); }
  void operator()(std::int64_t number) const { out.add_int64(kInt, number); }
  void operator()(double number) const { out.add_double(kDouble, number); }
};

void add_attribute(pbf_writer& parent, std::uint32_t field, const Attribute& attribute) {
  pbf_writer pair(parent, field);
  add_text(pair, kKey, attribute.name);
  pbf_writer value(pair, kValue);
  std::visit(AddValue{value}, attribute.value);
}

void add_link(pbf_writer& parent, const tracing::SpanContext& other) {
  pbf_writer out(parent, kLinks);
  add_id(out, kLinkTraceId, other.trace_id);
  add_id(out, kLinkSpanId, other.span_id);
  out.add_fixed32(kLinkFlags, other.flags);
}

void add_span(pbf_writer& parent, const Span& span) {
  pbf_writer out(parent, kSpans);
  add_id(out, kTraceId, span.context.trace_id);
  add_id(out, kSpanId, span.context.span_id);
  if (!span.tracestate.empty()) add_text(out, kTraceState, span.tracestate);
  if (std::ranges::any_of(span.parent_id, [](std::uint8_t byte) { return byte != 0; }))
    add_id(out, kParentSpanId, span.parent_id);
  add_text(out, kName, span.name);
  out.add_enum(kKind, static_cast<std::int32_t>(span.kind));
  out.add_fixed64(kStart, static_cast<std::uint64_t>(span.start_ns));
  out.add_fixed64(kEnd, static_cast<std::uint64_t>(span.end_ns));
  for (const Attribute& attribute : span.attributes) add_attribute(out, kAttributes, attribute);
  for (const tracing::SpanContext& other : span.links) add_link(out, other);
  if (span.dropped_links > 0) out.add_uint32(kDroppedLinks, span.dropped_links);
  if (span.status != tracing::SpanStatus::unset) {
    pbf_writer status(out, kStatus);
    if (!span.status_text.empty()) add_text(status, kStatusMessage, span.status_text);
    status.add_enum(kStatusCode, static_cast<std::int32_t>(span.status));
  }
  out.add_fixed32(kFlags, span.context.flags);
}

}  // namespace

std::string trace_message(const Resource& resource, std::span<const std::unique_ptr<Span>> spans) {
  std::string message;
  pbf_writer request(message);
  pbf_writer of_resource(request, kResourceSpans);
  {
    pbf_writer out(of_resource, kResource);
    for (const auto& [name, value] : resource) add_attribute(out, kResourceAttributes, {name, value});
  }
  pbf_writer of_scope(of_resource, kScopeSpans);
  {
    pbf_writer scope(of_scope, kScope);
    add_text(scope, kScopeName, "sluice");
    add_text(scope, kScopeVersion, version());
  }
  for (const auto& span : spans) add_span(of_scope, *span);
  of_scope.commit();
  of_resource.commit();
  return message;
}

std::uint64_t rejected_spans(std::string_view response) {
  try {
    std::int64_t rejected = 0;
    protozero::pbf_reader message(response.data(), response.size());
    while (message.next(kPartialSuccess, protozero::pbf_wire_type::length_delimited)) {
      protozero::pbf_reader partial = message.get_message();
      while (partial.next(kRejectedSpans, protozero::pbf_wire_type::varint)) rejected = partial.get_int64();
    }
    return static_cast<std::uint64_t>(std::max<std::int64_t>(rejected, 0));
  } catch (const protozero::exception&) {
    return 0;
  }
}

}  // namespace sluice::otlp
