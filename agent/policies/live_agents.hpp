// The number of live agents per tenant, from the server's heartbeats. It gives an agent's local share of a limit. Only
// failure mode fail_degrade needs that share, and this version does not have fail_degrade.
//
// Thread safety: any thread. Readers take no lock, also during set(). A table that is too small is replaced but not
// freed, because readers may use it; all former tables together are at most as large as the last one. A tenant is never
// removed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/plan.hpp"
#include "common/sync/watch_line.hpp"

namespace sluice::agent::policies {

class LiveAgents {
 public:
  LiveAgents();
  ~LiveAgents();

  // Replaces the numbers of all tenants.
  void set(const sync::LiveAgents& by_tenant);

  // 0: unknown, because no heartbeat has named a number yet.
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

// This agent's share of a limit while it judges without Redis: degrade_share, or 1 / live agents of the tenant. 1 while
// the number of agents is unknown.
double degrade_share(const Enforcement& enforcement, const LiveAgents& live, std::string_view tenant);

}  // namespace sluice::agent::policies
