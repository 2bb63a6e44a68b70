// The interface through which the sync routes pass agents' reports and watches to the fleet (see server/fleet).
//
// Thread: the server's loop; no function blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/sync/report.hpp"
#include "common/sync/watch_line.hpp"

namespace sluice::server::sync {

// An authenticated agent, with the scope of its token or binding.
struct AgentCaller {
  std::string token_id;                 // with a binding: "binding:" and the binding's id
  std::string organization_id;          // "": the platform
  std::vector<std::string> tenant_ids;  // sorted; empty: all tenants of the organization
  // For an agent with a binding: namespace and pod as Kubernetes names them; "": unknown.
  std::string namespace_ = {};
  std::string pod = {};

  bool operator==(const AgentCaller&) const = default;
};

// The server cannot list one more agent, so it refuses the agent's report.
struct QuotaExceeded {
  std::string quota;            // "agents", "agents_per_token"; "agents_per_server" is not of anybody
  std::string_view owner_kind;  // "token", "tenant" or "organization"; a literal
  std::string owner;            // id; "": the server
  std::size_t used = 0;
  std::size_t limit = 0;

  bool operator==(const QuotaExceeded&) const = default;
};

class FleetPort {
 public:
  // `source`: the sender's address. An agent numbers its usage reports from 1 in each run. Returns the number of the
  // run's last usage report that is known to be stored in PostgreSQL, or 0. On an error, nothing of the report was
  // taken.
  virtual std::expected<std::int64_t, QuotaExceeded> report(const AgentCaller& caller, std::string_view source,
                                                            sluice::sync::ReportDocument report) = 0;

  // An agent that reconnects may have two watches for a short time. `held`: the position of the agent's snapshot in
  // force, if any; after a restart of the agent, the position may be older than before.
  virtual void watch_began(const AgentCaller& caller, std::string_view agent_id,
                           const std::optional<sluice::sync::Position>& held) = 0;
  virtual void watch_ended(const AgentCaller& caller, std::string_view agent_id) = 0;

  // Counts the live agents for each tenant in the caller's scope.
  virtual sluice::sync::LiveAgents live_agents(const AgentCaller& caller) = 0;
  virtual std::size_t live() const = 0;  // of the whole fleet

 protected:
  ~FleetPort() = default;
};

}  // namespace sluice::server::sync
