// How much memory the counters of a process may take, and which tenants may begin new ones.
//
// The first half of the limit is for whoever comes first. After that, a tenant may begin new counters while it has less
// than half of what is still free. So each tenant that comes later finds room, whatever the earlier ones have taken.
//
// A counter that exists is never dropped before it expires. Its log or its leases may grow, also beyond the limit: that
// counts, and new counters find less room.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>

#include <boost/unordered/unordered_flat_map.hpp>

namespace sluice::limiter {

class MemoryBudget {
 public:
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  explicit MemoryBudget(std::size_t limit_bytes) : limit_(limit_bytes) {}

  // Whether the tenant that the counter key belongs to may begin a new counter.
  bool admits(std::string_view counter_key) const;
  // A counter of the tenant has grown by so many bytes (negative: shrunk).
  void add(std::string_view counter_key, std::ptrdiff_t bytes);

  std::size_t used() const { return used_.load(std::memory_order_relaxed); }
  bool is_limited() const { return limit_ != kUnlimited; }

 private:
  using Tenant = std::uint64_t;  // a hash of its id
  static Tenant tenant_of(std::string_view counter_key);

  const std::size_t limit_;
  std::atomic<std::size_t> used_{0};
  mutable std::mutex mutex_;  // guards by_tenant_
  boost::unordered_flat_map<Tenant, std::size_t> by_tenant_;
};

// The key of the counter that all identities of a tenant share which may not begin one of their own. There is one for
// each limit: "sl:{t|subject=ann}:p=x:k=burst|route=a" becomes "sl:{t|*}:p=x:k=burst". No identity is written "*".
std::string overflow_key(std::string_view counter_key);

}  // namespace sluice::limiter
