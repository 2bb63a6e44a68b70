// Where the sync routes tell of agents, and ask about them: what stands between policy sync and the view of the fleet.
//
// Thread: all of it on the server's loop; nothing blocks.
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

// Who proved an agent token, or came by a binding; and how far that reaches.
struct AgentCaller {
  std::string token_id;                 // or "binding:<id>"
  std::string organization_id;          // "": the platform
  std::vector<std::string> tenant_ids;  // none: all of the organization; sorted
  // Of one that came by a binding, as Kubernetes names it; "": not known.
  std::string namespace_ = {};
  std::string pod = {};

  bool operator==(const AgentCaller&) const = default;
};

class FleetPort {
 public:
  // What an agent reports of itself. `source`: the address it came from. The number of its last report (of this agent
  // and boot) that is stored in PostgreSQL.
  virtual std::int64_t report(const AgentCaller& caller, std::string_view source,
                              sluice::sync::ReportDocument report) = 0;

  // A watch was opened, and has ended: an agent may have several for a moment, when it opens the next. `held`: where
  // the agent says that it is; after a restart that may be behind what its run before reported.
  virtual void watch_began(const AgentCaller& caller, std::string_view agent_id,
                           const std::optional<sluice::sync::Position>& held) = 0;
  virtual void watch_ended(const AgentCaller& caller, std::string_view agent_id) = 0;

  // As the caller may see it: of the tenants that its token reaches.
  virtual sluice::sync::LiveAgents live_agents(const AgentCaller& caller) = 0;
  // The whole fleet.
  virtual std::size_t live() const = 0;

 protected:
  ~FleetPort() = default;
};

}  // namespace sluice::server::sync
