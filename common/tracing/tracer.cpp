#include "common/tracing/tracer.hpp"

#include <algorithm>
#include <new>
#include <optional>

namespace sluice::tracing {

ActiveSpan Tracer::start_request(std::string_view name, SpanKind kind, std::string_view traceparent,
                                 std::string_view tracestate) {
  const std::optional<SpanContext> parent = traceparent.empty() ? std::nullopt : parse_traceparent(traceparent);
  if (!parent) return start_root(name, kind);  // a tracestate without a valid traceparent means nothing
  if (!sampler_.follows(*parent)) return {};
  return begin(name, kind, parent->trace_id, &*parent, valid_tracestate(tracestate));
}

ActiveSpan Tracer::start_root(std::string_view name, SpanKind kind) {
  const TraceId id = random_trace_id();
  return sampler_.takes(id) ? begin(name, kind, id, nullptr, {}) : ActiveSpan();
}

ActiveSpan Tracer::start_below(std::string_view name, SpanKind kind, const SpanContext& parent,
                               std::string_view tracestate) {
  return parent.sampled() ? begin(name, kind, parent.trace_id, &parent, tracestate) : ActiveSpan();
}

ActiveSpan Tracer::begin(std::string_view name, SpanKind kind, const TraceId& trace, const SpanContext* parent,
                         std::string_view tracestate) noexcept {
  try {
    auto span = std::make_unique<Span>();
    span->context = {.trace_id = trace, .span_id = random_span_id(), .flags = SpanContext::kSampled};
    if (parent) {
      span->context.flags |= parent->flags & SpanContext::kKnown;
      span->parent_id = parent->span_id;
    }
    span->tracestate = tracestate;
    span->name = name;
    span->kind = kind;
    span->start_ns = now_();
    return {*this, std::move(span)};
  } catch (const std::bad_alloc&) {
    return {};
  }
}

ActiveSpan ActiveSpan::begin_child(std::string_view name, SpanKind kind) const noexcept {
  return tracer_->begin(name, kind, span_->context.trace_id, &span_->context, span_->tracestate);
}

// The wall clock may have been set back since the start.
void ActiveSpan::finish() noexcept {
  span_->end_ns = std::max(span_->start_ns, tracer_->now_());
  tracer_->queue_.put(std::move(span_));
}

}  // namespace sluice::tracing
