// How the wait of a held check ends, for metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::decide {

enum class WaitOutcome : std::uint8_t {
  allowed,    // it fits now
  timed_out,  // it has waited as long as it may, or would have to wait longer
  full,       // it was not held, because too many checks wait
  left,       // the caller has closed the connection
  failed,     // there was no answer of the counter store, or the agent was overloaded
  drained,    // the agent stops
};
inline constexpr std::array<std::string_view, 6> kWaitOutcomes{"allowed", "timed_out", "full",
                                                               "left",    "failed",    "drained"};
static_assert(static_cast<std::size_t>(WaitOutcome::drained) + 1 == kWaitOutcomes.size());

}  // namespace sluice::decide
