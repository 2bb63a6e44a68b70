// A table of the agents that report to this server. It says which of them to store in PostgreSQL, and counts live
// agents, including those that other servers have stored.
//
// Thread safety: none. Invariant: an agent that is not `dirty` is stored, or is being stored.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/sync/report.hpp"
#include "server/fleet/agent_census.hpp"
#include "server/fleet/agent_key.hpp"
#include "server/fleet/live_counts.hpp"

namespace sluice::server::fleet {

// A server hears from an agent when the agent sends a report or opens a watch. An agent not heard from for kLiveFor is
// missing; after kRememberedFor it is forgotten.
inline constexpr std::chrono::seconds kLiveFor{15};
inline constexpr std::chrono::minutes kRememberedFor{10};
inline constexpr std::chrono::seconds kConfirmWatchEvery{5};  // how often an open watch is stored again

using FleetTime = std::chrono::steady_clock::time_point;

enum class WatchState : std::uint8_t { unknown, open, lost };

// An agent to store. It has ages instead of times: PostgreSQL subtracts them from its own clock.
struct AgentRow {
  AgentKey key;
  AgentScope scope;
  std::string token_id;
  std::string state;                               // JSON, or "" before the first report
  std::optional<sluice::sync::Position> enforced;  // position of the snapshot in force
  std::optional<std::chrono::microseconds> reported_ago;
  std::chrono::microseconds heard_ago{0};
  WatchState watch = WatchState::unknown;
  // The revision in force when the agent last opened a watch here; −1 if it had no snapshot.
  std::optional<std::int64_t> held_revision;
  std::chrono::microseconds held_ago{0};  // since the agent opened that watch
  bool gone = false;                      // the last report said that the agent is leaving
};

struct StoredAgent {
  AgentKey key;
  AgentScope scope;
  std::string token_id = {};
  std::string counters_generation = {};                        // see sync::AgentState
  std::optional<std::chrono::microseconds> reported_ago = {};  // when it reported that generation
  std::chrono::microseconds heard_ago{0};
  bool gone = false;
};

class AgentTable {
 public:
  // report() and watch_began() fail if the table does not hold this agent and a quota allows no further one.
  using Listed = std::expected<void, sync::QuotaExceeded>;

  explicit AgentTable(const AgentLimits& limits = {}) : census_(limits) {}

  void set_quotas(auth::KnownQuotasPtr quotas) { census_.set_quotas(std::move(quotas)); }

  Listed report(const sync::AgentCaller& caller, const sluice::sync::AgentState& state, FleetTime now);
  // `held`: the position in force when the agent opened the watch.
  Listed watch_began(const sync::AgentCaller& caller, std::string_view agent_id,
                     const std::optional<sluice::sync::Position>& held, FleetTime now);
  void watch_ended(const sync::AgentCaller& caller, std::string_view agent_id);
  void end_watches();

  // Returns the agents to store, sorted by key. If storing fails, the caller must give them to put_back().
  std::vector<AgentRow> take_changed(FleetTime now);
  void put_back(const std::vector<AgentRow>& rows);

  // `agents`: every agent that any server has stored. `tenants`: see LiveCounts::visible_to(). Forgets agents that have
  // left or were not heard from for kRememberedFor.
  void replace_stored(const std::vector<StoredAgent>& agents, TenantsByOrganization tenants, FleetTime now);

  struct Counts {
    LiveCounts live;
    std::size_t missing = 0;
  };
  // The result is at most 500 ms old.
  const Counts& counts(FleetTime now);
  sluice::sync::LiveAgents live_agents(const sync::AgentCaller& caller, FleetTime now);

  // Returns the tokens and bindings (AgentCaller::token_id) of agents whose login to Redis is of another generation.
  // Agents that were not heard from for kRememberedFor do not count, nor those that have left.
  std::set<std::string, std::less<>> tokens_with_other_logins(std::string_view generation, FleetTime now) const;

 private:
  struct Agent {
    AgentScope scope;
    std::string token_id;
    std::string state;
    std::string counters_generation;
    std::optional<sluice::sync::Position> enforced;
    std::optional<FleetTime> reported_at;
    FleetTime heard_at;
    std::size_t watches = 0;
    WatchState watch = WatchState::unknown;
    FleetTime watch_stored;  // when take_changed() last returned the open watch
    std::optional<std::int64_t> held_revision;
    FleetTime held_at;
    bool gone = false;
    bool dirty = true;  // must be stored
  };
  struct LastHeard {
    AgentScope scope;
    std::string token_id;
    FleetTime heard_at;
    std::string counters_generation;
    std::optional<FleetTime> reported_at;
  };

  std::expected<Agent*, sync::QuotaExceeded> find_or_add(const sync::AgentCaller& caller, std::string_view agent_id,
                                                         FleetTime now);
  void forget(FleetTime now);
  void count_again();

  AgentCensus census_;  // of the agents in agents_ or stored_; an agent in both counts once
  std::map<AgentKey, Agent> agents_;
  std::map<AgentKey, LastHeard> stored_;  // stored by any server, including this one
  TenantsByOrganization tenants_by_organization_;
  Counts counts_;
  std::optional<FleetTime> counted_at_;
};

}  // namespace sluice::server::fleet
