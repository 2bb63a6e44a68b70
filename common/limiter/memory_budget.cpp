#include "common/limiter/memory_budget.hpp"

#include <functional>

namespace sluice::limiter {

MemoryBudget::Tenant MemoryBudget::tenant_of(std::string_view counter_key) {
  return std::hash<std::string_view>()(counter_key.substr(0, counter_key.find('|')));
}

bool MemoryBudget::admits(std::string_view counter_key) const {
  const std::size_t used = this->used();
  if (used < limit_ / 2) return true;
  if (used >= limit_) return false;
  const std::lock_guard lock(mutex_);
  const auto found = by_tenant_.find(tenant_of(counter_key));
  return found == by_tenant_.end() || found->second < (limit_ - used) / 2;
}

void MemoryBudget::add(std::string_view counter_key, std::ptrdiff_t bytes) {
  used_.fetch_add(static_cast<std::size_t>(bytes), std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  const auto tenant = by_tenant_.try_emplace(tenant_of(counter_key), 0).first;
  tenant->second += static_cast<std::size_t>(bytes);
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
