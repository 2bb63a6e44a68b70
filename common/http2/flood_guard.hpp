// Counts the frames that cost the server work and the client nothing. Two budgets: one of streams that end before they
// are answered (rapid reset), one of control frames (PING, SETTINGS, PRIORITY, empty DATA …). A connection that has
// spent a budget ends with ENHANCE_YOUR_CALM.
//
// Clients send PING and WINDOW_UPDATE with the answers they read, so each frame of an answer's body gives control
// frames back. Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/http2/limits.hpp"

namespace sluice::http2 {

class FloodGuard {
 public:
  static constexpr std::uint32_t kFramesPerAnswer = 16;

  explicit FloodGuard(const SessionLimits& limits)
      : limits_(limits), resets_(limits.resets), control_frames_(limits.control_frames) {}

  // Each returns false if the budget is spent.
  bool take_reset() { return take(resets_); }
  bool take_control_frame() { return take(control_frames_); }

  void answered() { give(control_frames_, kFramesPerAnswer, limits_.control_frames); }

  void tick() {
    give(resets_, limits_.resets_per_tick, limits_.resets);
    give(control_frames_, limits_.control_frames_per_tick, limits_.control_frames);
  }

 private:
  static bool take(std::uint32_t& budget) {
    if (budget == 0) return false;
    --budget;
    return true;
  }
  static void give(std::uint32_t& budget, std::uint32_t more, std::uint32_t most) {
    budget = std::min(most, budget + more);
  }

  const SessionLimits& limits_;
  std::uint32_t resets_;
  std::uint32_t control_frames_;
};

}  // namespace sluice::http2
