// The calls whose cost is measured: plans of one algorithm, and the production script's call for each of many subjects.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/limiter/script_calls.hpp"

namespace sluice::bench {

enum class Load : std::uint8_t {
  admitted,  // every limit has room
  denied,    // the last limit has admitted one unit and has room for no more
  full,      // logs and leases: the last limit holds 10,000 units, all that it ever can
};

inline constexpr std::array kAlgorithms{
    Algorithm::token_bucket, Algorithm::leaky_bucket,       Algorithm::fixed_window, Algorithm::sliding_window,
    Algorithm::quota,        Algorithm::sliding_window_log, Algorithm::concurrency};

// Logs and leases are measured while they move: what enters leaves again a tenth of a second later.
inline constexpr std::chrono::milliseconds kEntryLife{100};

inline bool keeps_entries(Algorithm algorithm) {
  return algorithm == Algorithm::sliding_window_log || algorithm == Algorithm::concurrency;
}

std::vector<Limit> limits_of(Algorithm algorithm, std::size_t count, Load load);

// 40 bytes, as the agent names the counter of user:000042 under the policy "orders".
std::string counter_key(std::size_t subject);

// Not thread-safe. Costs are 1; each call's lease has a name of its own. `sha`: of another version of the script.
class Calls {
 public:
  explicit Calls(const std::vector<Limit>& limits, std::string sha = "");
  Calls(const Calls&) = delete;  // the call points to the program

  void write(redis::CommandWriter& out, std::size_t subject);

 private:
  limiter::Program program_;
  limiter::Call call_;
  std::string sha_;
  std::array<PeriodBounds, kMaxLimitsPerPlan> periods_{};
  std::uint64_t leases_ = 0;
};

}  // namespace sluice::bench
