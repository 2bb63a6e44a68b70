#include "libsluice/lanes.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <thread>
#include <utility>

namespace sluice::lib {
namespace {

constexpr std::size_t kMostLanes = 256;

std::vector<std::unique_ptr<Lane>> make_lanes(std::size_t count, const CheckerParts& parts,
                                              const LaneObserving* observing) {
  std::vector<std::unique_ptr<Lane>> lanes;
  lanes.reserve(count);
  while (lanes.size() < count) lanes.push_back(std::make_unique<Lane>(lanes.size(), parts, observing));
  return lanes;
}

std::optional<usage::Recorder> recorder_of(std::size_t index, const LaneObserving* observing) {
  if (observing == nullptr) return std::nullopt;
  usage::WorkerUsage* const usage = observing->usage != nullptr ? &observing->usage->worker(index) : nullptr;
  return std::make_optional<usage::Recorder>(observing->metrics, observing->log, false, usage);
}

}  // namespace

// Ids of threads are addresses, which differ in their middle digits.
std::size_t number_of_thread() {
  const std::uint64_t id = std::hash<std::thread::id>()(std::this_thread::get_id());
  return static_cast<std::size_t>((id * 0x9e3779b97f4a7c15) >> 32U);
}

// Twice as many as threads that run at once, so that few of them lead to the same lane.
std::size_t lane_count(bool one) {
  if (one) return 1;
  return std::min(std::bit_ceil(std::size_t{2} * std::max(std::thread::hardware_concurrency(), 1U)), kMostLanes);
}

Lane::Lane(std::size_t index, const CheckerParts& parts, const LaneObserving* observing)
    : recorder_(recorder_of(index, observing)),
      checker_(parts, recorder_ ? static_cast<decide::DecisionObserver&>(*recorder_) : nobody_) {}

void Lane::publish(std::shared_ptr<const policy::Snapshot> snapshot) {
  const std::lock_guard lock(mutex_);
  news_.swap(snapshot);
  has_news_.store(true, std::memory_order_release);
}

void Lane::take_news() {
  std::shared_ptr<const policy::Snapshot> snapshot;
  {
    const std::lock_guard lock(mutex_);
    snapshot.swap(news_);
    has_news_.store(false, std::memory_order_relaxed);
  }
  checker_.set_snapshot(std::move(snapshot));
}

Lanes::Lanes(bool one, const CheckerParts& parts, const LaneObserving* observing)
    : one_(one), lanes_(make_lanes(lane_count(one), parts, observing)), first_(*lanes_.front()) {}

Lanes::Taken Lanes::take_free() {
  const std::size_t mask = lanes_.size() - 1;
  const std::size_t first = number_of_thread();
  for (std::size_t tries = 0;; ++tries) {
    Lane& lane = *lanes_[(first + tries) & mask];
    if (lane.try_take()) [[likely]]
      return {lane, true};
    if ((tries & mask) == mask) std::this_thread::yield();  // more threads are here than lanes
  }
}

// Lanes in use take it before their next check. The others would keep the former snapshot until then.
void Lanes::publish(const std::shared_ptr<const policy::Snapshot>& snapshot) {
  for (const auto& lane : lanes_) lane->publish(snapshot);
  if (one_) return;
  for (const auto& lane : lanes_) {
    if (!lane->try_take()) continue;
    const Taken taken(*lane, true);
    lane->checker();
  }
}

}  // namespace sluice::lib
