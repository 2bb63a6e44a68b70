#include "engine/policies/live_agents.hpp"

#include <algorithm>

#include "common/base/keyed_hash.hpp"

namespace sluice::policies {
namespace {

constexpr std::size_t kFirstSlots = 16;
// Marks a tenant that the heartbeat does not name: others_ applies.
constexpr std::int64_t kUnnamed = -1;

std::size_t hash_of(std::string_view name) { return hash_text(name); }

}  // namespace

struct LiveAgents::Tenant {
  const std::string name;
  std::atomic<std::int64_t> agents{kUnnamed};
};

// A hash table with open addressing. One thread fills free slots while other threads read. A filled slot never changes.
// At least a quarter of the slots stays free, so that every search ends.
struct LiveAgents::Table {
  explicit Table(std::size_t size) : slots(size) {}

  // The slot of a name, or the free slot where the name belongs. Another thread can fill a free slot at any time.
  struct Place {
    std::atomic<Tenant*>& slot;
    Tenant* tenant;  // what find() read from the slot; nullptr if the slot was free
  };

  Place find(std::string_view name) {
    for (std::size_t at = hash_of(name);; ++at) {
      std::atomic<Tenant*>& slot = slots[at & (slots.size() - 1)];
      Tenant* const there = slot.load(std::memory_order_acquire);
      if (there == nullptr || there->name == name) return {slot, there};
    }
  }

  std::vector<std::atomic<Tenant*>> slots;
};

LiveAgents::LiveAgents() {
  tables_.push_back(std::make_unique<Table>(kFirstSlots));
  table_.store(tables_.back().get(), std::memory_order_release);
}

LiveAgents::~LiveAgents() = default;

void LiveAgents::set(const sync::LiveAgents& by_tenant) {
  const std::lock_guard lock(mutex_);
  const auto others = by_tenant.find(sync::kEveryTenant);
  others_.store(others == by_tenant.end() ? 0 : std::max<std::int64_t>(others->second, 0), std::memory_order_relaxed);
  for (const auto& [name, agents] : by_tenant) {
    if (name != sync::kEveryTenant)
      tenant(name).agents.store(std::max<std::int64_t>(agents, 0), std::memory_order_relaxed);
  }
  for (const auto& known : tenants_) {
    if (!by_tenant.contains(known->name)) known->agents.store(kUnnamed, std::memory_order_relaxed);
  }
}

LiveAgents::Tenant& LiveAgents::tenant(const std::string& name) {
  if (Tenant* const known = tables_.back()->find(name).tenant) return *known;
  if (4 * (tenants_.size() + 1) > 3 * tables_.back()->slots.size()) {
    auto larger = std::make_unique<Table>(2 * tables_.back()->slots.size());
    for (const auto& known : tenants_) larger->find(known->name).slot.store(known.get(), std::memory_order_relaxed);
    tables_.push_back(std::move(larger));
    table_.store(tables_.back().get(), std::memory_order_release);
  }
  Tenant& added = *tenants_.emplace_back(std::make_unique<Tenant>(name));
  tables_.back()->find(name).slot.store(&added, std::memory_order_release);
  return added;
}

std::int64_t LiveAgents::of(std::string_view tenant) const {
  const Tenant* const known = table_.load(std::memory_order_acquire)->find(tenant).tenant;
  const std::int64_t agents = known == nullptr ? kUnnamed : known->agents.load(std::memory_order_relaxed);
  return agents == kUnnamed ? others_.load(std::memory_order_relaxed) : agents;
}

}  // namespace sluice::policies
