#include "common/redis/topology.hpp"

#include <algorithm>
#include <utility>

namespace sluice::redis {

void Topology::doubt(std::optional<HostPort> knows) {
  doubted_ = true;
  if (knows) knows_ = std::move(knows);
}

void Topology::reachable() {
  if (std::exchange(found_nobody_, false)) asked_at_ = TimePoint::min();
}

Topology::TimePoint Topology::next_question() const {
  const bool incomplete = !map_.empty() && !map_.covers_all_slots();
  if (asking_ || (!doubted_ && !incomplete)) return TimePoint::max();
  if (asked_at_ == TimePoint::min()) return asked_at_;
  return asked_at_ + (doubted_ ? kAskEvery : kAskIncompleteEvery);
}

std::optional<std::size_t> Topology::ask(std::span<const HostPort> nodes, TimePoint now) {
  asked_at_ = now;
  found_nobody_ = nodes.empty();
  if (found_nobody_) return std::nullopt;
  doubted_ = false;
  asking_ = true;
  if (const std::optional<HostPort> knows = std::exchange(knows_, std::nullopt)) {
    const auto found = std::ranges::find(nodes, *knows);
    if (found != nodes.end()) return static_cast<std::size_t>(found - nodes.begin());
  }
  return turn_++ % nodes.size();
}

void Topology::answered(SlotMap map) {
  asking_ = false;
  map_ = std::move(map);
}

void Topology::not_answered() {
  asking_ = false;
  doubted_ = true;
}

}  // namespace sluice::redis
