#include "server/sync/publish_spans.hpp"

#include "common/tracing/parent.hpp"

namespace sluice::server::sync {

void PublishSpans::begin(RevisionChanges& revision) {
  if (tracer_ == nullptr || revision.traceparent.empty() || spans_.size() >= kMost) return;
  const tracing::Parent call(tracer_, revision.traceparent);
  tracing::ActiveSpan span = call.child("sync publish");
  if (!span) return;
  span->start_ns = began_ns_;
  span->set("sluice.revision", revision.at.revision);
  span->set("sluice.changes", revision.objects.size());
  revision.traceparent = tracing::format_traceparent(span->context);
  spans_.push_back(std::move(span));
}

void PublishSpans::discard() {
  for (tracing::ActiveSpan& span : spans_) span.discard();
  spans_.clear();
}

}  // namespace sluice::server::sync
