// The spans of a client of policy sync: a fetch, putting its state in force, and the report of that. They belong to the
// trace of the newest traced change that the server announced, so the trace of an admin call leads to every agent. The
// fetch has links to the traces of further changes. What
// the first fetch brings belongs to the agent's start.
//
// The spans are empty, and cost nothing, without a tracer or if the trace is not sampled.
// Thread: the client's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/http_client/client.hpp"
#include "common/sync/traced_changes.hpp"
#include "common/tracing/parent.hpp"
#include "common/tracing/tracer.hpp"

namespace sluice::follow {

class SyncTrace {
 public:
  static constexpr int kMostAttempts = 100;  // a server that is away does not make a trace longer than this

  // `tracer`: nullptr: no traces. `start`: the parent of the first fetch.
  SyncTrace(tracing::Tracer* tracer, tracing::Parent start, const http_client::Url& server)
      : tracer_(tracer), server_(server), next_(std::move(start)) {}

  // Until a fetch has covered them, the next one belongs to the newest change, and has links to the others.
  void announced(const sync::TracedChanges& changes);

  // Adds the trace's headers to the request.
  void begin_fetch(http_client::Request& request);
  void end_fetch(const Result<http_client::Response>& answer);
  // The fetch is over and has covered what was announced before it began. A fetch that failed is tried again in the
  // same trace.
  void covered();

  void begin_use(std::int64_t revision, bool full);
  void end_use(std::string_view why_refused = {});  // "": the state is in force

  // Adds the headers if this report is the first one after a traced state came into force.
  void begin_report(http_client::Request& request);
  void end_report(std::string_view error = {});  // "": the server has answered

 private:
  tracing::ActiveSpan begin_request(const tracing::Parent& parent, std::string_view name,
                                    http_client::Request& request) const;
  void link_earlier();

  tracing::Tracer* const tracer_;
  const http_client::Url server_;
  tracing::Parent next_;         // of the next fetch
  sync::TracedChanges changes_;  // not covered yet; next_ is the newest of them
  sync::TracedChanges newer_;    // those of them that were announced during the running fetch
  int attempts_ = 0;             // fetches that belonged to next_
  tracing::ActiveSpan fetch_;
  tracing::Parent answered_;  // the span of the last answered fetch
  tracing::ActiveSpan use_;
  tracing::Parent in_force_;  // the span of a state in force that was not reported yet
  tracing::ActiveSpan report_;
};

}  // namespace sluice::follow
