// Counters of policy sync, for metrics. Thread safety: any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::server::sync {

struct SyncStatistics {
  using Counter = std::atomic<std::uint64_t>;

  // Fetches by their answers.
  Counter fetched_full{0};
  Counter fetched_delta{0};
  Counter fetched_unchanged{0};  // 304
  Counter fetched_resync{0};     // 410
  Counter document_bytes{0};     // sent, after compression
  Counter built{0};              // snapshots and deltas; one can answer several fetches
  Counter built_bytes{0};        // after compression

  Counter changes{0};  // changes in the scope of an open watch, counted for each watch
  Counter announcements{0};
  Counter merged_changes{0};  // changes that the announcement of another change covered
  Counter heartbeats{0};
  Counter reports{0};
  Counter delayed{0};                    // requests that waited for a read of PostgreSQL
  Counter auth_failures{0};              // answered with 401, 403 or 429
  std::atomic<std::int64_t> watches{0};  // open now
};

}  // namespace sluice::server::sync
