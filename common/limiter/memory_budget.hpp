// How much memory the counters of a process may take, and which tenants may begin new counters or add entries to logs
// and leases.
//
// A part of the memory is kept for overflow counters. The rest, the room, is shared:
// - With one tenant, the room is all that tenant's.
// - With more tenants, half of the room is divided among them equally. A tenant can always use its part.
// - From the other half tenants borrow. A tenant may borrow while it has borrowed less than what is still free there.
//   So one tenant alone gets half of it, and n tenants that want more than they get have equal loans.
//
// So a tenant that uses less than its part finds room whatever the others do.
//
// A counter is never dropped before it expires.
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

  explicit MemoryBudget(std::size_t limit_bytes);

  // How many tenants share the memory: those of the policies in force. Until the first call, all memory is borrowed.
  void set_tenants(std::size_t count);

  // Whether the key's tenant may take more memory.
  bool admits(std::string_view counter_key) const;
  // Whether a new overflow counter may be made.
  bool admits_overflow() const { return used() < limit_; }
  // Whether an overflow counter may have another lease. Leaves memory for further overflow counters.
  bool admits_overflow_lease() const { return used() < limit_ - (limit_ - room_) / 2; }
  // `bytes` is negative if the counters of the key have shrunk. If an allocation fails, nothing is counted; this can
  // happen only for a tenant without counters.
  void add(std::string_view counter_key, std::ptrdiff_t bytes);

  std::size_t used() const { return used_.load(std::memory_order_relaxed); }
  std::size_t limit() const { return limit_; }

 private:
  using Tenant = std::uint64_t;  // a hash of its id
  static Tenant tenant_of(std::string_view counter_key);

  std::size_t loan(std::size_t bytes, std::size_t part) const { return bytes > part ? bytes - part : 0; }

  const std::size_t limit_;
  const std::size_t room_;  // limit_ without what is kept for overflow counters
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> free_for_all_;                     // while used_ is less, every tenant may take more
  mutable std::mutex mutex_;                                  // guards all below
  boost::unordered_flat_map<Tenant, std::size_t> by_tenant_;  // bytes
  std::size_t part_ = 0;                                      // of each tenant
  std::size_t to_lend_;                                       // room_ without all parts
  std::size_t lent_ = 0;
};

// The key of the counter that is used if the tenant may not begin a new one. All identities share the overflow counter:
// "sl:{t|subject=ann}:p=x:k=burst|route=a" becomes "sl:{t|*}:p=x:k=burst". No identity is written as "*".
std::string overflow_key(std::string_view counter_key);

}  // namespace sluice::limiter
