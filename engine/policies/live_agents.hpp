// The number of live agents per tenant, from the server's heartbeats. In failure mode fail_degrade, this number gives
// an agent's share of a limit.
//
// Thread safety: any thread. Readers never take a lock. Former tables are not freed, because readers may still use
// them. All former tables together are at most as large as the last one.
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

namespace sluice::policies {

class LiveAgents {
 public:
  LiveAgents();
  ~LiveAgents();

  // Replaces the numbers of all tenants.
  void set(const sync::LiveAgents& by_tenant);

  // If the heartbeat does not name `tenant`, returns the number for all other tenants, or 0 if there is none.
  std::int64_t of(std::string_view tenant) const;

 private:
  struct Tenant;
  struct Table;

  Tenant& tenant(const std::string& name);

  std::mutex mutex_;  // guards tenants_ and tables_, which only set() uses
  std::vector<std::unique_ptr<Tenant>> tenants_;
  std::vector<std::unique_ptr<Table>> tables_;  // the last one is in use
  std::atomic<Table*> table_{nullptr};
  std::atomic<std::int64_t> others_{0};  // for tenants that the heartbeat does not name
};

}  // namespace sluice::policies
