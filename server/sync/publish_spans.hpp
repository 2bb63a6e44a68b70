// The spans "sync publish": a server learns of a revision and tells it to the agents. One for each traced revision of a
// round, below the span of the call that made the revision, on every server.
//
// Thread: the feed's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/tracing/tracer.hpp"
#include "server/sync/history.hpp"

namespace sluice::server::sync {

class PublishSpans {
 public:
  static constexpr std::size_t kMost = 64;  // spans of one round; a restored history may bring thousands of revisions

  // `tracer`: nullptr if this server does not trace. Then agents continue the trace of the call.
  explicit PublishSpans(tracing::Tracer* tracer)
      : tracer_(tracer), began_ns_(tracer == nullptr ? 0 : tracer->now_ns()) {}

  // Begins the span of a traced revision, which is the one that agents continue from then on.
  void begin(RevisionChanges& revision);
  // Forgets the spans, because the round failed: the next round begins them again.
  void discard();

 private:
  tracing::Tracer* const tracer_;
  const std::int64_t began_ns_;  // when the round began
  std::vector<tracing::ActiveSpan> spans_;
};

}  // namespace sluice::server::sync
