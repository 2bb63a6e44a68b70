#include "common/redis/fair_queue.hpp"

#include <algorithm>

namespace sluice::redis {
namespace {

constexpr std::size_t index(Patience patience) { return static_cast<std::size_t>(patience); }

// So that giving it back never allocates, there is room for all among the idle ones.
template <class T>
T& take(std::vector<std::unique_ptr<T>>& all, std::vector<T*>& idle) {
  if (idle.empty()) {
    if (idle.capacity() <= all.size()) idle.reserve(2 * all.size() + 1);
    return *all.emplace_back(std::make_unique<T>());
  }
  T& taken = *idle.back();
  idle.pop_back();
  return taken;
}

}  // namespace

void FairQueue::push(Command& command, const Flow& flow, Patience patience, TimePoint now, TimePoint send_by) {
  QueuedKey& key = key_of(flow);
  command.key_ = &key;
  command.patience_ = patience;
  command.queued_at_ = now;
  command.send_by_ = send_by;
  key.commands[index(patience)].push_back(command);
  by_age_[index(patience)].push_back(command);
  ++size_;
}

Command* FairQueue::pop(TimePoint now) {
  if (empty()) return nullptr;
  QueuedTenant& tenant = tenants_.front();
  QueuedKey& key = tenant.keys.front();
  const std::size_t turn = key.commands[key.next].empty() ? 1 - key.next : key.next;
  key.next = 1 - turn;
  tenant.last_turn = now;
  Command& command = key.commands[turn].front();
  tenants_.splice(tenants_.end(), tenants_, tenants_.begin());
  tenant.keys.splice(tenant.keys.end(), tenant.keys, tenant.keys.begin());
  remove(command);
  return &command;
}

FairQueue::Overdue FairQueue::pop_overdue(TimePoint now) {
  for (auto& commands : by_age_) {
    if (commands.empty() || commands.front().send_by_ > now) continue;
    Command& command = commands.front();
    const Overdue overdue{&command, command.key_->tenant->last_turn >= command.queued_at_};
    remove(command);
    return overdue;
  }
  return {};
}

FairQueue::TimePoint FairQueue::next_overdue() const {
  TimePoint next = TimePoint::max();
  for (const auto& commands : by_age_) {
    if (!commands.empty()) next = std::min(next, commands.front().send_by_);
  }
  return next;
}

// If an allocation fails, no key and no tenant without commands has a turn.
QueuedKey& FairQueue::key_of(const Flow& flow) {
  QueuedKey*& key = key_by_flow_[flow];
  if (key == nullptr) {
    QueuedKey& made = take(all_keys_, idle_keys_);
    try {
      made.tenant = &tenant_of(flow.tenant);
    } catch (...) {
      idle_keys_.push_back(&made);
      throw;
    }
    made.flow = flow;
    made.tenant->keys.push_back(made);
    key = &made;
  }
  return *key;
}

QueuedTenant& FairQueue::tenant_of(std::uint64_t id) {
  QueuedTenant*& tenant = tenant_by_id_[id];
  if (tenant == nullptr) {
    tenant = &take(all_tenants_, idle_tenants_);
    tenant->id = id;
    tenant->last_turn = TimePoint::min();
    tenants_.push_back(*tenant);
  }
  return *tenant;
}

// An API key without commands becomes idle and gets no turns. A tenant whose keys are all idle becomes idle, too.
void FairQueue::remove(Command& command) {
  const std::size_t lane = index(command.patience_);
  QueuedKey& key = *command.key_;
  key.commands[lane].erase(key.commands[lane].iterator_to(command));
  by_age_[lane].erase(by_age_[lane].iterator_to(command));
  --size_;
  if (!key.commands[0].empty() || !key.commands[1].empty()) return;
  QueuedTenant& tenant = *key.tenant;
  tenant.keys.erase(tenant.keys.iterator_to(key));
  key_by_flow_.erase(key.flow);
  idle_keys_.push_back(&key);
  if (!tenant.keys.empty()) return;
  tenants_.erase(tenants_.iterator_to(tenant));
  tenant_by_id_.erase(tenant.id);
  idle_tenants_.push_back(&tenant);
}

}  // namespace sluice::redis
