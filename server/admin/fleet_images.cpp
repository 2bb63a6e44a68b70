#include "server/admin/fleet_images.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/crypto.hpp"

namespace sluice::server::admin {
namespace {

std::string random_epoch() {
  std::array<std::uint8_t, 8> bytes;
  random_bytes(bytes);
  return to_hex(bytes);
}

}  // namespace

FleetImagePtr FleetImages::get(const std::string& key, std::int64_t at_least, const std::function<ReadFleet()>& read,
                               const std::function<Time()>& now) {
  const Time began = now();
  {
    const std::lock_guard lock(mutex_);
    forget_unused(began);
    Entry& entry = entries_[key];
    entry.used_at = began;
    if (FleetImagePtr image = known(entry, at_least, began)) return image;
    entry.reading = true;
  }
  try {
    ReadFleet fleet = read();
    return keep(key, std::move(fleet), began, now());
  } catch (...) {
    const std::lock_guard lock(mutex_);
    entries_[key].reading = false;
    throw;
  }
}

// Returns nullptr if the image must be read. REQUIRES: mutex_ is locked.
FleetImagePtr FleetImages::known(const Entry& entry, std::int64_t at_least, Time now) {
  if (!entry.image || entry.image->newest() < at_least) return nullptr;
  const auto fresh_for = std::max<std::chrono::nanoseconds>(kFreshFor, kRest * entry.took);
  return entry.reading || now - entry.read_at < fresh_for ? entry.image : nullptr;
}

// Two threads may have read a scope at the same time. Then the read that began last counts.
FleetImagePtr FleetImages::keep(const std::string& key, ReadFleet fleet, Time began, Time ended) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[key];
  entry.reading = false;
  if (entry.image && entry.read_at > began) return entry.image;
  entry.image = entry.image ? FleetImage::after(entry.image, std::move(fleet))
                            : FleetImage::begin(random_epoch(), std::move(fleet));
  entry.read_at = began;
  entry.took = ended - began;
  entry.used_at = std::max(entry.used_at, began);
  return entry.image;
}

// REQUIRES: mutex_ is locked.
void FleetImages::forget_unused(Time now) {
  std::erase_if(entries_,
                [now](const auto& each) { return !each.second.reading && now - each.second.used_at > kKeptFor; });
}

std::size_t FleetImages::count() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace sluice::server::admin
