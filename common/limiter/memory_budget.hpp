// How much memory the counters of a process may take, and which tenants may begin new counters.
//
// Every tenant may begin new counters until half of the memory limit is used. After that, a tenant may begin new
// counters only while its counters take less than half of the free memory, so that there is room for later tenants.
//
// A counter is never dropped before it expires. Its log or leases still grow when the memory limit is reached.
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

  // Whether the key's tenant may begin a new counter.
  bool admits(std::string_view counter_key) const;
  // `bytes` is negative if the counters of the key have shrunk.
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

// The key of the counter that is used if the tenant may not begin a new one. All identities share the overflow counter:
// "sl:{t|subject=ann}:p=x:k=burst|route=a" becomes "sl:{t|*}:p=x:k=burst". No identity is written as "*".
std::string overflow_key(std::string_view counter_key);

}  // namespace sluice::limiter
