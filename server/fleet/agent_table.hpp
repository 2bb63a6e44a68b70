// The agents that this replica hears of, what is to be stored of them, and, with what other replicas stored, how many
// are live.
//
// Thread safety: none; one at a time. No clock, no I/O.
// Invariant: an agent that is not `dirty` is in PostgreSQL as it is here.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/sync/report.hpp"
#include "server/fleet/agent_key.hpp"
#include "server/fleet/live_counts.hpp"

namespace sluice::server::fleet {

inline constexpr std::chrono::seconds kLiveFor{15};        // after its last report an agent is missing
inline constexpr std::chrono::minutes kRememberedFor{10};  // a missing one is forgotten
inline constexpr std::chrono::seconds kRefreshWatch{5};    // how often it is stored that a watch is still open

using FleetTime = std::chrono::steady_clock::time_point;

// What this replica knows of an agent's watch.
enum class WatchState : std::uint8_t { unknown, open, lost };

// An agent as it is to be stored. Ages instead of times: all replicas go by PostgreSQL's clock.
struct AgentRow {
  AgentKey key;
  AgentScope scope;
  std::string token_id;
  std::string state;  // JSON; "": it has not reported yet
  std::optional<sluice::sync::Position> enforced;
  std::optional<std::chrono::microseconds> reported_ago;
  std::chrono::microseconds heard_ago{0};
  WatchState watch = WatchState::unknown;
  // Where the agent said that it is when it last opened a watch, −1: nowhere yet; absent: it opened none here.
  std::optional<std::int64_t> held;
  std::chrono::microseconds held_ago{0};
  bool gone = false;
};

// An agent as replicas have stored it.
struct SeenAgent {
  AgentKey key;
  AgentScope scope;
  std::chrono::microseconds heard_ago{0};
  bool gone = false;
};

class AgentTable {
 public:
  static constexpr std::size_t kMost = 20'000;

  explicit AgentTable(std::size_t most = kMost) : most_(most) {}

  // False: there are too many, and this one is not among them.
  bool report(const sync::AgentCaller& caller, const sluice::sync::AgentState& state, FleetTime now);
  bool watch_began(const sync::AgentCaller& caller, std::string_view agent_id,
                   const std::optional<sluice::sync::Position>& held, FleetTime now);
  void watch_ended(const sync::AgentCaller& caller, std::string_view agent_id);
  void end_watches();  // all: this replica ends

  // What changed, whose last-heard moved, whose open watch is to be said again; in the order of keys. It counts as
  // stored unless put_back() says that it could not be.
  std::vector<AgentRow> take_changed(FleetTime now);
  void put_back(const std::vector<AgentRow>& rows);

  // What all replicas have stored; replaces what they had before. Also forgets whom nobody has heard of for long.
  void see(const std::vector<SeenAgent>& agents, TenantsOf tenants_of, FleetTime now);

  struct Counts {
    LiveCounts live;
    std::size_t missing = 0;
  };
  // As of at most half a second ago.
  const Counts& counts(FleetTime now);
  sluice::sync::LiveAgents live_agents(const sync::AgentCaller& caller, FleetTime now);

 private:
  struct Agent {
    AgentScope scope;
    std::string token_id;
    std::string state;
    std::optional<sluice::sync::Position> enforced;
    std::optional<FleetTime> reported;
    FleetTime heard;
    std::size_t watches = 0;
    WatchState watch = WatchState::unknown;
    FleetTime watch_stored;
    std::optional<std::int64_t> held;
    FleetTime held_at;
    bool gone = false;
    bool dirty = true;
  };
  struct Other {
    AgentScope scope;
    FleetTime heard;
  };

  Agent* meet(const sync::AgentCaller& caller, std::string_view agent_id, FleetTime now);
  void forget(FleetTime now);

  std::size_t most_;
  std::map<AgentKey, Agent> agents_;
  std::map<AgentKey, Other> others_;  // those of this replica too
  TenantsOf tenants_of_;
  Counts counts_;
  std::optional<FleetTime> counted_;
};

}  // namespace sluice::server::fleet
