// Random plans, edits of them and overrides, all of them such as the APIs accept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/domain/plan.hpp"
#include "common/limiter/counter_store.hpp"
#include "tests/integration/equivalence/random.hpp"

namespace sluice::test {

struct RandomPlan {
  std::vector<Limit> limits;
  std::optional<Micros> max_delay;  // action delay
};

enum class Flavour : std::uint8_t {
  mixed,     // 1 to 8 limits, edited now and then
  single,    // one limit that never changes: an exact reference follows it
  crowded,   // one or two logs or leases with many entries
  windowed,  // one limit with a window that overrides replace: an exact reference follows both counters
};

RandomPlan random_plan(Random& random, Flavour flavour);

// Changes numbers of a limit, its algorithm, window or identity; adds, removes, reorders limits; toggles action delay.
void edit(Random& random, RandomPlan& plan);

// Replaces some numbers of `limit` from `now` on. Nothing where no change was found that the APIs accept.
std::optional<limiter::OverrideEntry> random_override(Random& random, Limit limit, std::optional<Micros> max_delay,
                                                      std::int64_t now_us);

// Overrides of the limit's window, each with another window. They never end. REQUIRES: a limit with a window.
std::vector<limiter::OverrideEntry> random_window_overrides(Random& random, const Limit& limit, std::size_t count);

// Whether the APIs accept these numbers.
bool acceptable(const Limit& limit, std::optional<Micros> max_delay);

// The limit with the override's numbers. REQUIRES: the override is for this limit's algorithm.
Limit with(Limit limit, const limiter::OverrideEntry& entry);

// How long the limit takes to forget, in µs: the time scale on which something happens to it.
std::int64_t scale_of(const Limit& limit);

// Names of units; Limit::unit is one of them.
inline constexpr std::array<const char*, 3> kUnits{"requests", "tokens", "bytes"};

}  // namespace sluice::test
