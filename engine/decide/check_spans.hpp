// The spans of one check: that of the check itself, and below it one for each question to the counter store.
//
// Thread: one worker's. Without a trace each function costs a comparison.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/tracing/tracer.hpp"
#include "engine/decide/decision.hpp"

namespace sluice::decide {

// Where a check belongs in a trace.
struct CheckTrace {
  std::string_view traceparent = {};  // as the caller sent it
  // The span of the request that brought the check; empty if that is not traced. nullptr: the check is no part of such
  // a span, so its own begins at `traceparent`.
  const tracing::ActiveSpan* request = nullptr;
};

// What spans say of the counter store.
struct TracedStore {
  std::string_view operation;  // the command, "EVALSHA"
  std::string host = {};       // "": the store has several
  std::uint16_t port = 0;      // 0: a Unix socket
};

class CheckSpans {
 public:
  void begin(const CheckTrace& trace, tracing::Tracer* tracer) {
    if (trace.request != nullptr)
      check_ = trace.request->child(kName);
    else if (tracer != nullptr) [[unlikely]]
      check_ = tracer->start_request(kName, tracing::SpanKind::server, trace.traceparent, {});
  }
  // `store`: nullptr if it is in memory.
  void ask(const TracedStore* store) {
    if (check_ && store != nullptr) [[unlikely]]
      begin_store(*store);
  }
  void answered(std::span<const Judgement> judgements) {
    if (store_) [[unlikely]]
      end_store(first_error(judgements));
  }
  // `error`: why the store did not judge; nullptr if it did.
  void answered(const limiter::StoreError* error) {
    if (store_) [[unlikely]]
      end_store(error);
  }
  void end() {
    store_.end();
    check_.end();
  }

  tracing::Span* check() const { return check_ ? &*check_ : nullptr; }

 private:
  static constexpr std::string_view kName = "ratelimit.check";

  void begin_store(const TracedStore& store);
  static const limiter::StoreError* first_error(std::span<const Judgement> judgements);
  void end_store(const limiter::StoreError* error);

  tracing::ActiveSpan check_;
  tracing::ActiveSpan store_;
};

}  // namespace sluice::decide
