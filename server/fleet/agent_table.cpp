#include "server/fleet/agent_table.hpp"

#include <algorithm>
#include <utility>

#include "server/fleet/state_text.hpp"

namespace sluice::server::fleet {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

constexpr std::chrono::milliseconds kMaxCountsAge{500};

microseconds age(FleetTime then, FleetTime now) {
  return std::max(duration_cast<microseconds>(now - then), microseconds(0));
}

}  // namespace

std::expected<AgentTable::Agent*, sync::QuotaExceeded> AgentTable::find_or_add(const sync::AgentCaller& caller,
                                                                               std::string_view agent_id,
                                                                               FleetTime now) {
  const AgentKey key = key_of(caller, agent_id);
  auto found = agents_.find(key);
  if (found == agents_.end()) {
    AgentScope scope = scope_of(caller);
    // An agent that another server stored is counted already.
    if (const auto stored = stored_.find(key); stored != stored_.end()) {
      census_.remove({key, stored->second.scope, stored->second.token_id});
      stored->second.token_id = caller.token_id;
    } else if (auto exceeded = census_.check({key, scope, caller.token_id})) {
      return std::unexpected(*std::move(exceeded));
    }
    census_.add({key, scope, caller.token_id});
    found = agents_.emplace(key, Agent{}).first;
    found->second.scope = std::move(scope);
    found->second.token_id = caller.token_id;
    counted_at_.reset();
  }
  Agent& agent = found->second;
  if (agent.token_id != caller.token_id) {
    census_.remove({key, agent.scope, agent.token_id});
    census_.add({key, agent.scope, caller.token_id});
    agent.token_id = caller.token_id;
  }
  agent.heard_at = now;
  agent.dirty = true;
  return &agent;
}

AgentTable::Listed AgentTable::report(const sync::AgentCaller& caller, const sluice::sync::AgentState& state,
                                      FleetTime now) {
  const auto listed = find_or_add(caller, state.agent_id, now);
  if (!listed) return std::unexpected(listed.error());
  Agent* const agent = *listed;
  agent->state = state_text(state);
  agent->counters_generation = state.counters_generation;
  agent->enforced = state.enforced;
  agent->reported_at = now;
  if (agent->gone != state.leaving) counted_at_.reset();
  agent->gone = state.leaving;
  return {};
}

AgentTable::Listed AgentTable::watch_began(const sync::AgentCaller& caller, std::string_view agent_id,
                                           const std::optional<sluice::sync::Position>& held, FleetTime now) {
  const auto listed = find_or_add(caller, agent_id, now);
  if (!listed) return std::unexpected(listed.error());
  Agent* const agent = *listed;
  ++agent->watches;
  agent->watch = WatchState::open;
  agent->held_revision = held ? held->revision : -1;
  agent->held_at = now;
  agent->gone = false;
  return {};
}

void AgentTable::watch_ended(const sync::AgentCaller& caller, std::string_view agent_id) {
  const auto found = agents_.find(key_of(caller, agent_id));
  if (found == agents_.end() || found->second.watches == 0) return;
  Agent& agent = found->second;
  if (--agent.watches > 0) return;
  agent.watch = WatchState::lost;
  agent.dirty = true;
}

void AgentTable::end_watches() {
  for (auto& [key, agent] : agents_) {
    if (agent.watches == 0) continue;
    agent.watches = 0;
    agent.watch = WatchState::lost;
    agent.dirty = true;
  }
}

std::vector<AgentRow> AgentTable::take_changed(FleetTime now) {
  std::vector<AgentRow> rows;
  for (auto& [key, agent] : agents_) {
    const bool refresh = agent.watch == WatchState::open && now - agent.watch_stored >= kConfirmWatchEvery;
    if (!agent.dirty && !refresh) continue;
    agent.dirty = false;
    if (agent.watch == WatchState::open) agent.watch_stored = now;
    AgentRow& row = rows.emplace_back(AgentRow{.key = key,
                                               .scope = agent.scope,
                                               .token_id = agent.token_id,
                                               .state = agent.state,
                                               .enforced = agent.enforced,
                                               .reported_ago = {},
                                               .heard_ago = age(agent.heard_at, now),
                                               .watch = agent.watch,
                                               .held_revision = agent.held_revision,
                                               .held_ago = age(agent.held_at, now),
                                               .gone = agent.gone});
    if (agent.reported_at) row.reported_ago = age(*agent.reported_at, now);
  }
  return rows;
}

void AgentTable::put_back(const std::vector<AgentRow>& rows) {
  for (const AgentRow& row : rows) {
    if (const auto found = agents_.find(row.key); found != agents_.end()) found->second.dirty = true;
  }
}

void AgentTable::replace_stored(const std::vector<StoredAgent>& agents, TenantsByOrganization tenants, FleetTime now) {
  stored_.clear();
  tenants_by_organization_ = std::move(tenants);
  for (const StoredAgent& stored : agents) {
    const FleetTime heard_at = now - duration_cast<FleetTime::duration>(stored.heard_ago);
    if (!stored.gone) {
      LastHeard& heard = stored_[stored.key];
      heard = {.scope = stored.scope,
               .token_id = stored.token_id,
               .heard_at = heard_at,
               .counters_generation = stored.counters_generation,
               .reported_at = {}};
      if (stored.reported_ago) heard.reported_at = now - duration_cast<FleetTime::duration>(*stored.reported_ago);
      continue;
    }
    // The agent has left, so it is forgotten, unless this server heard from it later or must still store it.
    const auto own = agents_.find(stored.key);
    if (own != agents_.end() && !own->second.dirty && (own->second.gone || own->second.heard_at <= heard_at)) {
      agents_.erase(own);
    }
  }
  forget(now);
  count_again();
  counted_at_.reset();
}

void AgentTable::count_again() {
  census_.clear();
  for (const auto& [key, agent] : agents_) census_.add({key, agent.scope, agent.token_id});
  for (const auto& [key, stored] : stored_) {
    if (!agents_.contains(key)) census_.add({key, stored.scope, stored.token_id});
  }
}

void AgentTable::forget(FleetTime now) {
  std::erase_if(agents_, [now](const auto& item) {
    return item.second.watches == 0 && !item.second.dirty && now - item.second.heard_at > kRememberedFor;
  });
}

const AgentTable::Counts& AgentTable::counts(FleetTime now) {
  if (counted_at_ && now - *counted_at_ < kMaxCountsAge) return counts_;
  counts_ = Counts{};
  const auto add = [&](const AgentScope& scope, FleetTime heard_at) {
    if (now - heard_at <= kLiveFor) {
      counts_.live.add(scope);
    } else if (now - heard_at <= kRememberedFor) {
      ++counts_.missing;
    }
  };
  for (const auto& [key, agent] : agents_) {
    if (agent.gone) continue;
    const auto stored = stored_.find(key);
    add(agent.scope, stored == stored_.end() ? agent.heard_at : std::max(agent.heard_at, stored->second.heard_at));
  }
  for (const auto& [key, stored] : stored_) {
    if (!agents_.contains(key)) add(stored.scope, stored.heard_at);
  }
  counted_at_ = now;
  return counts_;
}

// An agent may have reported to this server and, later, to another one. The later report counts.
std::set<std::string, std::less<>> AgentTable::tokens_with_other_logins(std::string_view generation,
                                                                        FleetTime now) const {
  std::set<std::string, std::less<>> tokens;
  const auto add = [&](const std::string& token_id, const std::string& used, FleetTime heard_at) {
    if (now - heard_at <= kRememberedFor && !used.empty() && used != generation) tokens.insert(token_id);
  };
  for (const auto& [key, agent] : agents_) {
    if (agent.gone) continue;
    const auto stored = stored_.find(key);
    const bool elsewhere = stored != stored_.end() && stored->second.reported_at &&
                           (!agent.reported_at || *stored->second.reported_at > *agent.reported_at);
    add(agent.token_id, elsewhere ? stored->second.counters_generation : agent.counters_generation, agent.heard_at);
  }
  for (const auto& [key, stored] : stored_) {
    if (!agents_.contains(key)) add(stored.token_id, stored.counters_generation, stored.heard_at);
  }
  return tokens;
}

sluice::sync::LiveAgents AgentTable::live_agents(const sync::AgentCaller& caller, FleetTime now) {
  return counts(now).live.visible_to(scope_of(caller), tenants_by_organization_);
}

}  // namespace sluice::server::fleet
