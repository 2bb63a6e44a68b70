// What the rate limit service counts, for metrics. One object for all workers.
//
// Thread safety: any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/rls/message.hpp"
#include "common/telemetry/metric_table.hpp"

namespace sluice::agent::rls {

enum class RequestOutcome : std::uint8_t { ok, over_limit, invalid, overload, unavailable };
inline constexpr std::array<std::string_view, 5> kRequestOutcomes{"ok", "over_limit", "invalid", "overload",
                                                                  "unavailable"};

enum class DescriptorOutcome : std::uint8_t {
  ok,
  over_limit,
  shadowed,  // over a limit of shadow_mode
  unlimited,
  no_limit,  // no rule matches, or another rule replaces the one that does
};
inline constexpr std::array<std::string_view, 5> kDescriptorOutcomes{"ok", "over_limit", "shadowed", "unlimited",
                                                                     "no_limit"};

RequestOutcome outcome_of(Refusal::Kind kind);

// How many descriptors of one request had each outcome. All workers share the Counts, so a request adds to them once.
using DescriptorTally = std::array<std::uint64_t, kDescriptorOutcomes.size()>;

struct Counts {
  std::array<std::atomic<std::uint64_t>, kRequestOutcomes.size()> requests{};
  std::array<std::atomic<std::uint64_t>, kDescriptorOutcomes.size()> descriptors{};

  void count(RequestOutcome outcome) noexcept {
    requests[static_cast<std::size_t>(outcome)].fetch_add(1, std::memory_order_relaxed);
  }
  // A Call counts its own refusals; front ends count those of requests that no Call gets.
  void count(Refusal::Kind kind) noexcept;
  void add(const DescriptorTally& tally) noexcept {
    for (std::size_t i = 0; i < tally.size(); ++i) {
      if (tally[i] > 0) descriptors[i].fetch_add(tally[i], std::memory_order_relaxed);
    }
  }
};

const telemetry::MetricTable<Counts>& count_metrics();

}  // namespace sluice::agent::rls
