// The number of live agents per tenant, from the server's heartbeats. In failure mode fail_degrade, an agent's share of
// a limit is one divided by this number, unless the policy sets degrade_share.
//
// Thread safety: any thread. Readers never take a lock, not even during set(). A table that is too small is replaced
// but not freed, because readers may still use it; all former tables together are at most as large as the last one. A
// tenant is never removed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/sync/watch_line.hpp"

namespace sluice::agent::policies {

class LiveAgents {
 public:
  LiveAgents();
  ~LiveAgents();

  // Replaces the numbers of all tenants.
  void set(const sync::LiveAgents& by_tenant);

  // Returns the number of live agents of a tenant. 0: unknown, because the server has named no number for it.
  std::int64_t of(std::string_view tenant) const;

 private:
  struct Tenant;
  struct Table;

  Tenant& tenant(const std::string& name);

  std::mutex mutex_;  // guards tenants_ and tables_, which only set() uses
  std::vector<std::unique_ptr<Tenant>> tenants_;
  std::vector<std::unique_ptr<Table>> tables_;  // the last one is in force
  std::atomic<Table*> table_{nullptr};
  std::atomic<std::int64_t> others_{0};  // the number for every tenant that the heartbeat does not name
};

}  // namespace sluice::agent::policies
