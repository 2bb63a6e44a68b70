#include "engine/decide/limit_override.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "common/base/text.hpp"

namespace sluice::decide {
namespace {

std::optional<LimitFault> fault_of(const BroughtLimit& brought, const std::vector<Limit>& limits) {
  const auto limit = std::ranges::find(limits, brought.name, &Limit::name);
  if (limit == limits.end()) {
    NearestNames nearest(brought.name);
    for (const Limit& known : limits) nearest.offer(known.name);
    return LimitFault{.name = brought.name, .nearest = {nearest.names().begin(), nearest.names().end()}};
  }
  if (brought.limit <= limit->max_override) return std::nullopt;
  return LimitFault{.kind = limit->max_override == 0 ? LimitFault::Kind::not_open : LimitFault::Kind::too_large,
                    .name = brought.name,
                    .most = limit->max_override};
}

}  // namespace

std::vector<LimitFault> limit_faults(const policy::Selection& selection, const CheckRequest& request) {
  std::vector<LimitFault> faults;
  for (const BroughtLimit& brought : request.limit_override) {
    if (auto fault = fault_of(brought, selection.primary()->program->limits)) faults.push_back(*std::move(fault));
  }
  return faults;
}

void bring_limits(const CheckRequest& request, Judgement& judgement) {
  const limiter::Program& whole = *judgement.rulebook->program;
  std::array<std::int64_t, kMaxLimitsPerPlan> limits{};
  for (const BroughtLimit& brought : request.limit_override) {
    const auto limit = std::ranges::find(whole.limits, brought.name, &Limit::name);
    if (limit == whole.limits.end() || brought.limit > limit->max_override) continue;
    limits[static_cast<std::size_t>(limit - whole.limits.begin())] = brought.limit;
  }
  judgement.brought = std::make_unique<const limiter::Program>(limiter::with_limits(whole, limits));
  judgement.call.program = judgement.brought.get();
}

}  // namespace sluice::decide
