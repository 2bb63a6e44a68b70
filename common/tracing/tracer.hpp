// Starts spans, and hands the ended ones to the exporter's queue.
//
// A program that does not trace has no Tracer: its code holds a null pointer and calls start_request(nullptr, …). An
// ActiveSpan is empty when its request is not sampled. Everything about an empty span costs one comparison, so make
// texts and ids for attributes only inside `if (span)`.
//
// A span for which there is no memory is empty: nothing here throws.
// Thread safety: Tracer any thread; an ActiveSpan belongs to one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "common/tracing/sampler.hpp"
#include "common/tracing/span.hpp"
#include "common/tracing/span_queue.hpp"

namespace sluice::tracing {

class Tracer;

// A span that goes on. It ends with end(), at the latest in its destructor. REQUIRES: the tracer outlives it.
class ActiveSpan {
 public:
  ActiveSpan() = default;
  ActiveSpan(ActiveSpan&& other) noexcept : tracer_(other.tracer_), span_(std::move(other.span_)) {}
  ActiveSpan& operator=(ActiveSpan&& other) noexcept {
    end();
    tracer_ = other.tracer_;
    span_ = std::move(other.span_);
    return *this;
  }
  ~ActiveSpan() { end(); }

  // Whether the request is sampled.
  explicit operator bool() const { return span_ != nullptr; }
  Span* operator->() const { return span_.get(); }
  Span& operator*() const { return *span_; }

  // A span below this one, which begins now; empty if this one is. `name`: see Span.
  ActiveSpan child(std::string_view name, SpanKind kind = SpanKind::internal) const {
    return span_ ? begin_child(name, kind) : ActiveSpan();
  }

  // The span is empty afterwards.
  void end() {
    if (span_) [[unlikely]]
      finish();
  }
  // Forgets the span: nobody will see it.
  void discard() { span_.reset(); }

 private:
  friend class Tracer;
  ActiveSpan(Tracer& tracer, std::unique_ptr<Span> span) : tracer_(&tracer), span_(std::move(span)) {}
  ActiveSpan begin_child(std::string_view name, SpanKind kind) const noexcept;
  void finish() noexcept;

  Tracer* tracer_ = nullptr;
  std::unique_ptr<Span> span_;
};

class Tracer {
 public:
  using Now = std::function<std::int64_t()>;  // nanoseconds since the Unix epoch

  explicit Tracer(Sampler sampler, std::size_t queue_capacity = 2048, Now now = system_now)
      : sampler_(sampler), queue_(queue_capacity), now_(std::move(now)) {}
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // The span of a request that has come in with these headers ("" where it has none; invalid ones are ignored). It is
  // empty if the sampler does not take the request.
  ActiveSpan start_request(std::string_view name, SpanKind kind, std::string_view traceparent,
                           std::string_view tracestate);

  // The span of work that nobody has asked for: the root of a new trace, if the sampler takes it.
  ActiveSpan start_root(std::string_view name, SpanKind kind = SpanKind::internal);

  // A span below a span that is known by its context only, for example one that another thread has. The parent's
  // sampling decision holds: empty if it is not sampled.
  ActiveSpan start_below(std::string_view name, SpanKind kind, const SpanContext& parent, std::string_view tracestate);

  std::int64_t now_ns() const { return now_(); }
  SpanQueue& queue() { return queue_; }
  const SpanQueue& queue() const { return queue_; }

  static std::int64_t system_now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

 private:
  friend class ActiveSpan;
  ActiveSpan begin(std::string_view name, SpanKind kind, const TraceId& trace, const SpanContext* parent,
                   std::string_view tracestate) noexcept;

  const Sampler sampler_;
  SpanQueue queue_;
  const Now now_;
};

// As Tracer::start_request(); empty without a tracer.
inline ActiveSpan start_request(Tracer* tracer, std::string_view name, SpanKind kind, std::string_view traceparent,
                                std::string_view tracestate) {
  return tracer ? tracer->start_request(name, kind, traceparent, tracestate) : ActiveSpan();
}

// As Tracer::start_root(); empty without a tracer.
inline ActiveSpan start_root(Tracer* tracer, std::string_view name, SpanKind kind = SpanKind::internal) {
  return tracer ? tracer->start_root(name, kind) : ActiveSpan();
}

}  // namespace sluice::tracing
