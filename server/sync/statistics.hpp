// Counters of policy sync. The loop and the threads of Documents write them; metrics may read them from any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::server::sync {

struct SyncStatistics {
  using Counter = std::atomic<std::uint64_t>;

  // Fetches by their answers.
  Counter fetched_full{0};  // full snapshots
  Counter fetched_delta{0};
  Counter fetched_unchanged{0};  // 304
  Counter fetched_resync{0};     // 410
  Counter document_bytes{0};     // of the snapshots and deltas sent, after compression
  Counter built{0};              // snapshots and deltas built; if several fetches share one, it counts once
  Counter built_bytes{0};        // after compression

  Counter changes{0};         // changes in the scope of an open watch, counted for each watch
  Counter announcements{0};   // announcements written
  Counter merged_changes{0};  // changes without an announcement of their own, because another one covered them
  Counter heartbeats{0};
  Counter reports{0};
  Counter delayed{0};                    // requests that waited for a read of PostgreSQL
  Counter auth_failures{0};              // requests without a valid token (401 or 429) or without a binding (403)
  std::atomic<std::int64_t> watches{0};  // open now
};

}  // namespace sluice::server::sync
