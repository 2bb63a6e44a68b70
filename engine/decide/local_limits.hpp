// Judges by this agent's share of the limits while the counter store does not answer (failure mode fail_degrade).
// Overrides do not apply here, but a limit that the check brings does: this agent takes its share of it.
//
// Thread: one worker's. The MemoryCounters are shared by all workers and keep charges after a failure has ended.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "common/limiter/memory_store.hpp"
#include "engine/decide/decision.hpp"

namespace sluice::decide {

class LocalLimits {
 public:
  // Returns the number of live agents of a tenant. 0 means unknown: this agent then takes the whole limit.
  using LiveAgents = std::function<std::int64_t(std::string_view tenant)>;

  LocalLimits(limiter::MemoryCounters& counters, LiveAgents live_agents)
      : counters_(counters), live_agents_(std::move(live_agents)) {}

  // Judges each deciding rulebook for which wants_local_limit() is true.
  void judge(const policy::TenantView& tenant, std::span<Judgement> judgements);

  limiter::LeaseOutcome release(std::span<const limiter::LeaseRef> leases) { return counters_.release(leases); }
  limiter::LeaseOutcome renew(std::span<const limiter::LeaseRef> leases) { return counters_.renew(leases); }

  // The live agents of a tenant, at least 1.
  std::int64_t agents_of(std::string_view tenant) const { return std::max<std::int64_t>(live_agents_(tenant), 1); }

  // Call this when another snapshot comes into force.
  void forget_programs() { programs_.clear(); }

 private:
  struct Part {
    std::shared_ptr<const limiter::Program> whole;  // keeps the pointer in PartKey valid
    limiter::Program program;                       // the limits of `whole`, reduced to this agent's share
  };
  using PartKey = std::pair<const limiter::Program*, double>;  // the whole program and this agent's share

  double share_of(const Enforcement& enforcement, std::string_view tenant) const;
  const limiter::Program& part_of(const policy::Rulebook& rulebook, double share);
  void judge_part(const limiter::Program& part, Judgement& judgement);

  limiter::MemoryCounters& counters_;
  const LiveAgents live_agents_;
  boost::unordered_flat_map<PartKey, std::unique_ptr<Part>> programs_;
};

}  // namespace sluice::decide
