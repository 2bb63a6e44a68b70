// The interface through which the sync routes tell the fleet (see server/fleet) about agents' reports and watches, and
// get the numbers of live agents.
//
// Thread: the server's loop; no function blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/sync/report.hpp"
#include "common/sync/watch_line.hpp"

namespace sluice::server::sync {

// An authenticated agent: its token or binding, and the scope of that token or binding.
struct AgentCaller {
  std::string token_id;                 // with a binding: "binding:" and the binding's id
  std::string organization_id;          // "": the platform
  std::vector<std::string> tenant_ids;  // sorted; empty: all tenants of the organization
  // For an agent with a binding: namespace and pod as Kubernetes names them; "": unknown.
  std::string namespace_ = {};
  std::string pod = {};

  bool operator==(const AgentCaller&) const = default;
};

class FleetPort {
 public:
  // Takes an agent's report. `source`: the sender's address. An agent numbers its usage reports from 1 in each run; its
  // boot_id names the run. Returns the number of this run's last usage report that is known to be stored in
  // PostgreSQL; 0: none.
  virtual std::int64_t report(const AgentCaller& caller, std::string_view source,
                              sluice::sync::ReportDocument report) = 0;

  // A watch was opened or has ended. An agent that reconnects may have two watches for a short time. `held`: the
  // position of the agent's snapshot in force; nullopt: it has no snapshot. After a restart of the agent, the position
  // may be older than before.
  virtual void watch_began(const AgentCaller& caller, std::string_view agent_id,
                           const std::optional<sluice::sync::Position>& held) = 0;
  virtual void watch_ended(const AgentCaller& caller, std::string_view agent_id) = 0;

  // The number of live agents for each tenant in the caller's scope.
  virtual sluice::sync::LiveAgents live_agents(const AgentCaller& caller) = 0;
  // The number of live agents of the whole fleet.
  virtual std::size_t live() const = 0;

 protected:
  ~FleetPort() = default;
};

}  // namespace sluice::server::sync
