// judge_single_in_memory(): what memory_judge.cpp does, for a plan of one limit and a cell that has its counter and
// nothing else: no overrides, parked counters or entries. tests/integration/equivalence sends its histories through
// both.
#include <algorithm>
#include <array>

#include "common/limiter/memory_judge.hpp"
#include "common/limiter/traits.hpp"

namespace sluice::limiter {
namespace {

constexpr std::size_t kMaxValues = 3;  // counter_id % 4

// In whole numbers, because a division of doubles takes long.
void store(Cell& cell, const Program& program, std::span<const double> values, std::int64_t now_us,
           std::int64_t reset_us) {
  cell.expires_ms = static_cast<double>(now_us / 1000 + std::max<std::int64_t>((reset_us + 999) / 1000, 1));
  cell.time = static_cast<double>(now_us);
  if (cell.layout == program.groups[0].layout) {
    std::copy_n(values.begin(), values.size(), cell.plain_values().begin());
    return;
  }
  cell.set_counters({&program.rules[0].counter_id, 1}, values);
  cell.layout = program.groups[0].layout;
}

}  // namespace

bool judge_single_in_memory(const Call& call, Cell& cell, std::int64_t now_us, Outcome& out) {
  const Program& program = *call.program;
  const Rule& rule = program.rules[0];
  const auto now = static_cast<double>(now_us);
  if (call.explain || cell.existing_extras() != nullptr) return false;
  if (cell.layout != program.groups[0].layout && !cell.ids().empty()) return false;

  cell.forget_expired(now);
  const double stored_at = cell.time;
  std::array<double, kMaxValues> buffer{};
  const std::span values(buffer.data(), rule.counter_id % 4);
  if (!cell.ids().empty()) std::copy_n(cell.plain_values().begin(), values.size(), values.begin());

  const KindTraits& kind = traits_of(rule.kind);
  const Terms terms{rule.kind, static_cast<double>(call.costs[0]), rule.limit, rule.p, rule.q, program.max_delay_us};
  const Judged judged = kind.judge(terms, values.data(), now, std::min(stored_at, now));
  const bool admitted = !denies(terms, judged);
  const double charge = admitted ? terms.cost : 0;
  const Charged charged = kind.charge(terms, values.data(), now, charge, admitted);

  out.allowed = admitted;
  out.now_us = now_us;
  out.report.admitted = admitted;
  out.report.limit = static_cast<std::int64_t>(terms.limit);
  out.report.remaining = static_cast<std::int64_t>(std::max(0.0, charged.left));
  out.report.reset_after_us = static_cast<std::int64_t>(charged.reset_us);
  if (!admitted) {
    out.report.retry_after_us = never_fits(terms) ? kNever : static_cast<std::int64_t>(judged.wait_us);
  }
  if (charge > 0) out.report.delay_us = std::max<std::int64_t>(static_cast<std::int64_t>(charged.hold_us), 0);
  // Even a denial is written if the clock has stepped back since the last charge.
  if (charge > 0 || stored_at > now) store(cell, program, values, now_us, out.report.reset_after_us);
  return true;
}

}  // namespace sluice::limiter
