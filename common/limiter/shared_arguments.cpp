#include "common/limiter/shared_arguments.hpp"

#include <algorithm>

namespace sluice::limiter {
namespace {

// A rulebook is compared with so many before it, so that a call of many different ones stays cheap.
constexpr std::size_t kCompared = 8;

bool have_equal_tails(const Program& one, const Program& other) {
  if (&one == &other) return true;
  return one.groups[0].layout == other.groups[0].layout && one.script_tail == other.script_tail;
}

bool have_equal_costs(const Call& one, const Call& other) {
  const auto costs = std::span(one.costs).first(one.program->rules.size());
  return std::equal(costs.begin(), costs.end(), other.costs.begin());
}

// REQUIRES: their programs have equal tails, and so the same number of rules.
bool have_equal_parameters(const Call& one, const Call& other) {
  if (one.program->has_quotas) return false;  // their periods may differ
  if (one.program != other.program && one.program->packed != other.program->packed) return false;
  return have_equal_costs(one, other);
}

}  // namespace

std::size_t argument_count(const Program& program) { return 2 + 3 * program.groups.size() + (program.leases > 0); }

OwnArguments own_arguments(std::span<const CheckPart> parts, std::size_t enforced, std::size_t index) {
  const Call& call = *parts[index].call;
  OwnArguments own{.count = static_cast<std::uint8_t>(argument_count(*call.program)), .shared_with = 0};
  if (call.program->leases > 0) return own;  // each call has a draw of its own
  // Beside this, only the program says whether the limits are reported.
  const auto asks_for_reports = [&](std::size_t i) { return parts[i].call->explain || is_together(enforced, i); };
  for (std::size_t i = index; i > 0 && index - i < kCompared; --i) {
    const Call& earlier = *parts[i - 1].call;
    if (!have_equal_tails(*call.program, *earlier.program)) continue;
    const auto number = static_cast<std::uint8_t>(i);
    if (asks_for_reports(i - 1) == asks_for_reports(index) && have_equal_parameters(call, earlier)) {
      return {.count = 0, .shared_with = number};
    }
    own = {.count = 1, .shared_with = number};
  }
  return own;
}

}  // namespace sluice::limiter
