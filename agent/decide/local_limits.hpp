// Judges by this agent's share of the limits while the counter store does not answer: failure mode fail_degrade with
// degrade_action local_limit. Overrides do not apply here.
//
// Thread: one worker's. All workers count in the same MemoryCounters, which live as long as the process: what is spent
// stays spent when the store answers in between.
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
  // `live_agents`: how many agents count for a tenant now; 0: unknown, so this one counts for all.
  using LiveAgents = std::function<std::int64_t(std::string_view tenant)>;

  LocalLimits(limiter::MemoryCounters& counters, LiveAgents live_agents)
      : counters_(counters), live_agents_(std::move(live_agents)) {}

  // Judges each rulebook that decides, that the store has not judged, and whose failure mode wants that.
  void judge(const policy::TenantView& tenant, std::span<Judgement> judgements);

  limiter::LeaseOutcome release(std::span<const limiter::LeaseRef> leases) { return counters_.release(leases); }
  limiter::LeaseOutcome renew(std::span<const limiter::LeaseRef> leases) { return counters_.renew(leases); }

  // Another snapshot is in force: the programs of the former one are not needed any more.
  void forget_programs() { programs_.clear(); }

 private:
  struct Part {
    std::shared_ptr<const limiter::Program> whole;  // keeps the key of programs_ alive
    limiter::Program program;
  };
  using PartKey = std::pair<const limiter::Program*, double>;  // the whole, and the share of it

  double share_of(const Enforcement& enforcement, std::string_view tenant) const;
  const limiter::Program& part_of(const policy::Rulebook& rulebook, double share);

  limiter::MemoryCounters& counters_;
  const LiveAgents live_agents_;
  boost::unordered_flat_map<PartKey, std::unique_ptr<Part>> programs_;
};

}  // namespace sluice::agent::decide
