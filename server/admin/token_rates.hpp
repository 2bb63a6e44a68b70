// How many calls a second each admin token may make on this server. The rates are token buckets of our own engine,
// with a burst of one second.
//
// Thread: the event loop's. Memory: only tokens that exist are charged, counters that are full again are removed, and
// at most kMaxPrograms rates are kept compiled.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "common/base/clock.hpp"
#include "common/limiter/memory_store.hpp"
#include "server/auth/token_quotas.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {

class TokenRates {
 public:
  static constexpr std::size_t kMaxPrograms = 256;

  // The rates of tokens without a quota. 0: any number.
  struct PerSecond {
    std::int64_t writes = 100;
    std::int64_t reads = 1'000;
  };
  TokenRates(PerSecond rates, const Clock& clock);

  // Charges one call. Returns 429 if the token has no call left; then nothing is charged. `quota`: replaces the rate;
  // 0 allows no call. A token whose rate has changed begins with a full bucket.
  std::optional<http::Refusal> charge(std::string_view token_id, bool writes,
                                      const std::optional<auth::KnownQuotas::Found>& quota = std::nullopt);

  // Any thread may call this one.
  std::uint64_t refused(bool writes) const { return refused_[writes ? 1 : 0].load(std::memory_order_relaxed); }

 private:
  bool admits(std::string_view token_id, bool writes, std::int64_t per_second, std::int64_t& retry_after_us);
  const limiter::Program& program_of(std::int64_t per_second);

  const std::array<std::int64_t, 2> per_second_;       // reads, writes
  std::map<std::int64_t, limiter::Program> programs_;  // by calls a second
  limiter::MemoryCounters counters_;
  limiter::Call call_;
  std::array<std::atomic<std::uint64_t>, 2> refused_{};
};

}  // namespace sluice::server::admin
