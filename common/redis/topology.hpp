// The slot map that a client of a Redis Cluster uses, and when to ask for a new map. While the map is in doubt, the
// client asks one node at a time, at most once in kAskEvery.
//
// No I/O, no clock: time is an argument. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

#include "common/redis/slot_map.hpp"

namespace sluice::redis {

class Topology {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kAskEvery{250};
  // For a map that is not in doubt, but lacks the primary of some slots: its sender may not know all other nodes yet.
  static constexpr std::chrono::milliseconds kAskIncompleteEvery{1000};

  const SlotMap& map() const { return map_; }

  // The map may be out of date. `knows` is the node that a MOVED reply named; its map is newer.
  void doubt(std::optional<HostPort> knows = {});

  // A node can answer again. If the last ask() found no node, the next question is due now.
  void reachable();

  // TimePoint::max() while a question is under way, or while the map has all primaries and is not in doubt.
  TimePoint next_question() const;

  // Chooses one of `nodes`: the node that MOVED named, or else the next in turn. Returns its index; answered() or
  // not_answered() must follow. Returns nullopt if `nodes` is empty. REQUIRES: next_question() <= now.
  std::optional<std::size_t> ask(std::span<const HostPort> nodes, TimePoint now);
  void answered(SlotMap map);
  void not_answered();

 private:
  SlotMap map_;
  bool doubted_ = true;
  bool asking_ = false;
  bool found_nobody_ = false;
  std::optional<HostPort> knows_;
  std::size_t turn_ = 0;
  TimePoint asked_at_ = TimePoint::min();
};

}  // namespace sluice::redis
