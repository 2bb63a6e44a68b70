// The queries about agents that the list of agents, the enforcement of a revision and the events of the fleet share.
//
// Each query has the aliases `a` (agents), `r` (the newest revision), `h` (the revision that the agent enforces) and
// `n` (the revision after that one).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/admin/call.hpp"
#include "server/store/statement.hpp"

namespace sluice::server::admin {

// An agent that is behind for less is expected to have caught up by its next report.
inline constexpr std::chrono::seconds kSettledAfter{5};

// SQL expressions. `agent_document`: the agent as the API shows it, JSON. `agent_identity`: the members of it that tell
// it from all others, JSON. `agent_mark`: another text whenever the document has changed in a way worth telling.
std::string is_live_agent();
std::string agent_document();
std::string agent_identity();
std::string agent_mark();

// The agents within the caller's scope that `organization_id` and `tenant_id` of the query select. More conditions may
// follow.
store::Statement known_agents(const Call& call, std::string_view columns);

// Agents whose scope overlaps the caller's, and which are alike.
struct EnforcementGroup {
  bool missing = false;
  std::optional<std::int64_t> enforced;  // the revision; nullopt: none, or one of another history
  bool refusing = false;                 // its last report names a snapshot that it refused
  bool foreign = false;                  // it has another history than PostgreSQL
  std::int64_t agents = 0;

  bool operator==(const EnforcementGroup&) const = default;
};
using EnforcementGroups = std::vector<EnforcementGroup>;

EnforcementGroups read_enforcement(Context& context);

struct Enforcement {
  std::string agents;   // JSON: the number of agents of each class
  bool by_all = false;  // false without agents, because a caller may be waiting for the first agents to start
};
Enforcement enforcement_of(const EnforcementGroups& groups, std::int64_t revision);

}  // namespace sluice::server::admin
