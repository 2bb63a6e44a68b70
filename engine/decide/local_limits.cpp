#include "engine/decide/local_limits.hpp"

#include <algorithm>
#include <utility>

#include "common/limiter/share.hpp"

namespace sluice::decide {
namespace {

constexpr std::size_t kMaxPrograms = 10'000;

}  // namespace

void LocalLimits::judge(const policy::TenantView& tenant, std::span<Judgement> judgements) {
  for (Judgement& judgement : judgements) {
    if (judgement.role != policy::Role::decides || !wants_local_limit(judgement)) continue;
    const policy::Rulebook& rulebook = *judgement.rulebook;
    const double share = share_of(rulebook.enforcement, tenant.tenant.id);
    if (judgement.call.program == rulebook.program.get()) {
      judge_part(part_of(rulebook, share), judgement);
    } else {
      judge_part(limiter::share_of(*judgement.call.program, share), judgement);
    }
  }
}

void LocalLimits::judge_part(const limiter::Program& part, Judgement& judgement) {
  const limiter::Program* const whole = std::exchange(judgement.call.program, &part);
  judgement.outcome = counters_.judge(judgement.call);
  judgement.local = judgement.outcome.has_value();  // else there was no memory for the counter
  judgement.call.program = whole;
}

double LocalLimits::share_of(const Enforcement& enforcement, std::string_view tenant) const {
  if (enforcement.degrade_share) return *enforcement.degrade_share;
  return 1.0 / static_cast<double>(agents_of(tenant));
}

const limiter::Program& LocalLimits::part_of(const policy::Rulebook& rulebook, double share) {
  if (programs_.size() >= kMaxPrograms) programs_.clear();
  std::unique_ptr<Part>& part = programs_[{rulebook.program.get(), share}];
  if (part == nullptr) part = std::make_unique<Part>(rulebook.program, limiter::share_of(*rulebook.program, share));
  return part->program;
}

}  // namespace sluice::decide
