// Counters of policy sync. The loop and the builder's threads write them; metrics may read them from any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::server::sync {

struct SyncStatistics {
  using Counter = std::atomic<std::uint64_t>;

  // Fetches by their answers.
  Counter fetched_whole{0};
  Counter fetched_delta{0};
  Counter fetched_nothing{0};  // 304
  Counter fetched_resync{0};   // 410
  Counter document_bytes{0};   // of bodies answered, as sent
  Counter built{0};            // documents; answers that share one count once
  Counter built_bytes{0};      // as sent

  Counter invalidations{0};  // changes that watches heard of, each watch for itself
  Counter lines{0};          // invalidations written
  Counter folded{0};         // invalidations that had no line of their own
  Counter heartbeats{0};
  Counter reports{0};
  Counter asked{0};                      // requests for which PostgreSQL was looked at first
  Counter refused{0};                    // 401, 429
  std::atomic<std::int64_t> watches{0};  // open now
};

}  // namespace sluice::server::sync
