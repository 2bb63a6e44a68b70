// What a client knows about its Redis Cluster, and when the client asks for the slot map again. It asks at once when
// something says that the map is out of date. But it asks only one node at a time, and asks at most once in kAskEvery.
// After a question without an answer, and while a primary is not connected, it asks again after kAskEvery.
//
// No I/O, no clock, no timer: time is an argument. Not thread-safe.
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
  // A map in which some slots have no primary is asked for again: the node that sent it may not know all others yet.
  static constexpr std::chrono::milliseconds kAskIncompleteEvery{1000};

  const SlotMap& map() const { return map_; }

  // Something says that the map may be out of date. `knows`: the node that MOVED named; its map is newer.
  void doubt(std::optional<HostPort> knows = {});

  // A node can answer again. If the last ask() found no node, the next question is due now.
  void reachable();

  // When to ask; TimePoint::max(): not now, because nothing is in doubt, or a question is under
  // way.
  TimePoint next_question() const;

  // Chooses the node to ask among `nodes`, which can answer: the one that MOVED named, or else the next in turn.
  // Returns its index; answered() or not_answered() must follow. nullopt: `nodes` is empty, so the map remains in
  // doubt. REQUIRES: next_question() <= now.
  std::optional<std::size_t> ask(std::span<const HostPort> nodes, TimePoint now);
  void answered(SlotMap map);
  void not_answered();

 private:
  SlotMap map_;
  bool doubted_ = true;
  bool asking_ = false;
  bool found_nobody_ = false;      // the last ask() found no node
  std::optional<HostPort> knows_;  // the node that MOVED named last; the next question goes to it
  std::size_t turn_ = 0;
  TimePoint asked_at_ = TimePoint::min();
};

}  // namespace sluice::redis
