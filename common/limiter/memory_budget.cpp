#include "common/limiter/memory_budget.hpp"

#include <algorithm>

#include "common/base/keyed_hash.hpp"

namespace sluice::limiter {
namespace {

constexpr std::size_t kOverflowPart = 16;  // one sixteenth of the limit is for overflow counters

}  // namespace

MemoryBudget::MemoryBudget(std::size_t limit_bytes)
    : limit_(limit_bytes), room_(limit_ - limit_ / kOverflowPart), free_for_all_(room_ / 2), to_lend_(room_) {}

MemoryBudget::Tenant MemoryBudget::tenant_of(std::string_view counter_key) {
  return hash_text(counter_key.substr(0, counter_key.find('|')));
}

void MemoryBudget::set_tenants(std::size_t count) {
  const std::lock_guard lock(mutex_);
  part_ = count == 1 ? room_ : room_ / 2 / std::max<std::size_t>(count, 1);
  to_lend_ = count == 1 ? 0 : room_ - room_ / 2;
  lent_ = 0;
  for (const auto& [tenant, bytes] : by_tenant_) lent_ += loan(bytes, part_);
  free_for_all_.store(std::max(part_, to_lend_ / 2), std::memory_order_relaxed);
}

bool MemoryBudget::admits(std::string_view counter_key) const {
  const std::size_t used = this->used();
  if (used < free_for_all_.load(std::memory_order_relaxed)) return true;
  if (used >= limit_) return false;
  const std::lock_guard lock(mutex_);
  const auto found = by_tenant_.find(tenant_of(counter_key));
  const std::size_t bytes = found == by_tenant_.end() ? 0 : found->second;
  return bytes < part_ || loan(bytes, part_) + lent_ < to_lend_;
}

void MemoryBudget::add(std::string_view counter_key, std::ptrdiff_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto tenant = by_tenant_.try_emplace(tenant_of(counter_key), 0).first;
  lent_ -= loan(tenant->second, part_);
  tenant->second += static_cast<std::size_t>(bytes);
  lent_ += loan(tenant->second, part_);
  used_.fetch_add(static_cast<std::size_t>(bytes), std::memory_order_relaxed);
  if (tenant->second == 0) by_tenant_.erase(tenant);
}

std::string overflow_key(std::string_view counter_key) {
  const std::size_t bar = counter_key.find('|');
  const std::size_t close = counter_key.find('}');
  if (bar == std::string_view::npos || close == std::string_view::npos || bar > close) {
    return std::string(counter_key) + "|*";
  }
  std::string key(counter_key.substr(0, bar));
  key += "|*";
  const std::string_view rest = counter_key.substr(close);
  key += rest.substr(0, rest.find('|'));
  return key;
}

}  // namespace sluice::limiter
