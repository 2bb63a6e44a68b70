#include "server/admin/fleet_image.hpp"

#include <utility>

namespace sluice::server::admin {
namespace {

FleetImage::AgentPtr make_agent(ReadAgent read, std::uint64_t changed) {
  return std::make_shared<const FleetImage::Agent>(FleetImage::Agent{.read = std::move(read), .changed = changed});
}

}  // namespace

FleetImagePtr FleetImage::begin(std::string epoch, ReadFleet fleet) {
  const std::shared_ptr<FleetImage> image(new FleetImage());
  image->epoch_ = std::move(epoch);
  image->agents_.reserve(fleet.agents.size());
  for (ReadAgent& read : fleet.agents) image->agents_.push_back(make_agent(std::move(read), 1));
  image->groups_ = std::move(fleet.groups);
  image->newest_ = fleet.newest;
  return image;
}

// Both lists are sorted, so one walk over them finds who came, who changed and who left.
FleetImagePtr FleetImage::after(const FleetImagePtr& before, ReadFleet fleet) {
  const std::shared_ptr<FleetImage> image(new FleetImage(*before));
  const std::uint64_t number = before->number_ + 1;
  bool changed = false;
  image->agents_.clear();
  image->agents_.reserve(fleet.agents.size());
  auto old = before->agents_.begin();
  const auto leave_until = [&](const std::string* key) {
    for (; old != before->agents_.end() && (key == nullptr || (*old)->read.key < *key); ++old) {
      image->gone_.push_back(make_agent((*old)->read, number));
      changed = true;
    }
  };
  for (ReadAgent& read : fleet.agents) {
    leave_until(&read.key);
    const bool known = old != before->agents_.end() && (*old)->read.key == read.key;
    if (known && (*old)->read.mark == read.mark) {
      image->agents_.push_back(*old++);
      continue;
    }
    if (known) ++old;
    if (!known) std::erase_if(image->gone_, [&](const AgentPtr& gone) { return gone->read.key == read.key; });
    image->agents_.push_back(make_agent(std::move(read), number));
    changed = true;
  }
  leave_until(nullptr);
  image->forget_old();
  if (changed) image->number_ = number;
  image->groups_ = std::move(fleet.groups);
  image->newest_ = fleet.newest;
  return image;
}

void FleetImage::forget_old() {
  if (gone_.size() <= kMaxGone) return;
  const auto kept = gone_.end() - static_cast<std::ptrdiff_t>(kMaxGone);
  gone_since_ = (*(kept - 1))->changed;
  gone_.erase(gone_.begin(), kept);
}

}  // namespace sluice::server::admin
