// Judges by this agent's share of the limits while the counter store does not answer, if the policy has the failure
// mode fail_degrade with the degrade_action local_limit. Overrides do not apply here.
//
// Thread: one worker's. All workers count in the same MemoryCounters, which live as long as the process. So charges
// stay counted from one failure of the store to the next.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "agent/decide/decision.hpp"
#include "common/limiter/memory_store.hpp"

namespace sluice::agent::decide {

class LocalLimits {
 public:
  // Returns how many agents decide for a tenant now. 0: unknown, so this agent takes the whole limit as its share.
  using LiveAgents = std::function<std::int64_t(std::string_view tenant)>;

  LocalLimits(limiter::MemoryCounters& counters, LiveAgents live_agents)
      : counters_(counters), live_agents_(std::move(live_agents)) {}

  // Judges each deciding rulebook for which wants_local_limit() is true.
  void judge(const policy::TenantView& tenant, std::span<Judgement> judgements);

  limiter::LeaseOutcome release(std::span<const limiter::LeaseRef> leases) { return counters_.release(leases); }
  limiter::LeaseOutcome renew(std::span<const limiter::LeaseRef> leases) { return counters_.renew(leases); }

  // To be called when another snapshot is in force: frees the programs of the former snapshot.
  void forget_programs() { programs_.clear(); }

 private:
  struct Part {
    std::shared_ptr<const limiter::Program> whole;  // the rulebook's program; keeps the pointer in PartKey valid
    limiter::Program program;                       // the same limits with this agent's share of their numbers
  };
  using PartKey = std::pair<const limiter::Program*, double>;  // the rulebook's program, and this agent's share

  double share_of(const Enforcement& enforcement, std::string_view tenant) const;
  const limiter::Program& part_of(const policy::Rulebook& rulebook, double share);

  limiter::MemoryCounters& counters_;
  const LiveAgents live_agents_;
  boost::unordered_flat_map<PartKey, std::unique_ptr<Part>> programs_;
};

}  // namespace sluice::agent::decide
