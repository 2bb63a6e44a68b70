// How much memory the counters of a process may take, and which tenants may begin new counters.
//
// Every tenant may begin new counters until half of the memory limit is used. After that, a tenant may begin them only
// while its counters take less than half of the memory that is still free. So there is room for tenants that come
// later, however much the earlier ones have taken.
//
// A counter that exists is never dropped before it expires. Its log or its leases may grow, even beyond the memory
// limit. The budget counts that growth, which leaves less room for new counters.
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

  // Whether the tenant in the counter key may begin a new counter.
  bool admits(std::string_view counter_key) const;
  // Counts that the counters of this key have grown by `bytes` (below 0: they have shrunk).
  void add(std::string_view counter_key, std::ptrdiff_t bytes);

  std::size_t used() const { return used_.load(std::memory_order_relaxed); }
  bool is_limited() const { return limit_ != kUnlimited; }

 private:
  using Tenant = std::uint64_t;  // a hash of its id
  static Tenant tenant_of(std::string_view counter_key);

  const std::size_t limit_;
  std::atomic<std::size_t> used_{0};
  mutable std::mutex mutex_;                                  // guards by_tenant_
  boost::unordered_flat_map<Tenant, std::size_t> by_tenant_;  // bytes
};

// Returns the key of the overflow counter, which is used if the tenant may not begin a counter with `counter_key`. The
// key has "*" in place of the identity and lacks the dimensions that a limit adds, so these identities share the
// counter: "sl:{t|subject=ann}:p=x:k=burst|route=a" becomes "sl:{t|*}:p=x:k=burst". No identity is written as "*".
std::string overflow_key(std::string_view counter_key);

}  // namespace sluice::limiter
