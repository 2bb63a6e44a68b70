// What a client knows about its Redis Cluster, and when it asks for the slot map again: at once when something says
// that the map is out of date, but one question at a time, and at most one in kAskEvery. After an unanswered question,
// and while a primary is not connected, it asks again after kAskEvery.
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

  const SlotMap& map() const { return map_; }

  // Something says that the map may be out of date. `knows`: a node that knows better than others.
  void doubt(std::optional<HostPort> knows = {});

  // A node can answer again. If there was none for the last question, the next one is due now.
  void reachable();

  // When to ask; TimePoint::max(): not now, because nothing is in doubt or a question is under way.
  TimePoint next_question() const;

  // Begins a question, to one of the nodes that can answer: the one that knows better, or else the next in turn.
  // Returns its index. nullopt: there is none, so the doubt remains. REQUIRES: next_question() <= now.
  std::optional<std::size_t> ask(std::span<const HostPort> nodes, TimePoint now);
  void answered(SlotMap map);
  void not_answered();

 private:
  SlotMap map_;
  bool doubted_ = true;
  bool asking_ = false;
  bool found_nobody_ = false;  // for the last question
  std::optional<HostPort> knows_;
  std::size_t turn_ = 0;
  TimePoint asked_at_ = TimePoint::min();
};

}  // namespace sluice::redis
