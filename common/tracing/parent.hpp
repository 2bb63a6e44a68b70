// A span as the parent of spans elsewhere: on another thread, or in a layer that does not own the span.
//
// A value; thread safety: as of a value. REQUIRES: the tracer outlives it.
#pragma once

#include <string>
#include <string_view>

#include "common/tracing/trace_context.hpp"
#include "common/tracing/tracer.hpp"

namespace sluice::tracing {

class Parent {
 public:
  Parent() = default;  // stands for no span: its children are empty
  // Stands for no span if there is no tracer or the span is empty.
  Parent(Tracer* tracer, const ActiveSpan& span) {
    if (tracer == nullptr || !span) return;
    tracer_ = tracer;
    context_ = span->context;
    tracestate_ = span->tracestate;
  }
  // A span of another program, known by its `traceparent`. Stands for no span if that is invalid or not sampled.
  Parent(Tracer* tracer, std::string_view traceparent) {
    const auto context = tracer == nullptr ? std::nullopt : parse_traceparent(traceparent);
    if (!context || !context->sampled()) return;
    tracer_ = tracer;
    context_ = *context;
  }

  explicit operator bool() const { return tracer_ != nullptr; }

  ActiveSpan child(std::string_view name, SpanKind kind = SpanKind::internal) const {
    return tracer_ != nullptr ? tracer_->start_below(name, kind, context_, tracestate_) : ActiveSpan();
  }

  // The headers for a request that another program is to answer below this span; "" where there is none.
  std::string traceparent() const { return tracer_ != nullptr ? format_traceparent(context_) : std::string(); }
  const std::string& tracestate() const { return tracestate_; }

 private:
  Tracer* tracer_ = nullptr;
  SpanContext context_{};
  std::string tracestate_;
};

}  // namespace sluice::tracing
