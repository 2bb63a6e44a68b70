// How many calls a second each admin token may make on this server. The rates are token buckets of our own engine,
// with a burst of one second.
//
// Thread: the event loop's. Memory: only tokens that exist are charged, and counters that are full again are removed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/clock.hpp"
#include "common/limiter/memory_store.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {

class TokenRates {
 public:
  struct PerSecond {  // 0: any number
    std::int64_t writes = 100;
    std::int64_t reads = 1'000;
  };
  TokenRates(PerSecond rates, const Clock& clock);

  // Charges one call. Returns 429 if the token has no call left; then nothing is charged.
  std::optional<http::Refusal> charge(std::string_view token_id, bool writes);

  // Any thread may call this one.
  std::uint64_t refused(bool writes) const { return refused_[writes ? 1 : 0].load(std::memory_order_relaxed); }

 private:
  const std::array<std::int64_t, 2> per_second_;  // reads, writes
  const std::array<limiter::Program, 2> programs_;
  limiter::MemoryCounters counters_;
  limiter::Call call_;
  std::array<std::atomic<std::uint64_t>, 2> refused_{};
};

}  // namespace sluice::server::admin
