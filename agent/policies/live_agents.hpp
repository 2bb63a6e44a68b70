// How many agents are live for a tenant, as the server's heartbeats tell it: what a local share of a limit is taken of.
//
// Thread safety: set() from any thread, one at a time; the others from any thread, without a lock, also while it is
// set. A table that is too small is replaced, and kept until the end: together they are at most as large as the last
// one. A tenant once known keeps its place.
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

  // All that is known from now on.
  void set(const sync::LiveAgents& by_tenant);

  // 0: not known, because no heartbeat has told it yet.
  std::int64_t of(std::string_view tenant) const;

 private:
  struct Tenant;
  struct Table;

  Tenant& tenant(const std::string& name);

  std::mutex mutex_;  // guards what only set() uses
  std::vector<std::unique_ptr<Tenant>> tenants_;
  std::vector<std::unique_ptr<Table>> tables_;  // the last one is in force
  std::atomic<Table*> table_{nullptr};
  std::atomic<std::int64_t> others_{0};
};

// This agent's part of a limit while it judges alone: degrade_share, or 1 / live agents of the tenant. 1 where they are
// not known: it knows of none but itself.
double degrade_share(const Enforcement& enforcement, const LiveAgents& live, std::string_view tenant);

}  // namespace sluice::agent::policies
