#include "common/limiter/memory_judge.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "common/limiter/algorithms/lease_set.hpp"
#include "common/limiter/algorithms/quota.hpp"

namespace sluice::limiter {
namespace {

constexpr std::size_t kMaxValues = 2 * kMaxLimitsPerPlan;

// Judges and charges copies of a cell's values. Writes the copies back only if the call charges, or if the clock has
// stepped back.
class Judging {
 public:
  Judging(const Call& call, std::span<Cell* const> cells, double now)
      : call_(call), program_(*call.program), cells_(cells), now_(now) {}

  // Returns false if the time is outside the period of a quota.
  bool read_and_judge(std::span<const PeriodBounds> periods);
  bool admits() const { return allowed_; }
  // REQUIRES: `charges` is false, or admits() is true.
  void charge_and_report(bool charges, Outcome& outcome);

 private:
  // While an override replaces the window of a limit, the plan's own counter is charged too, but does not judge.
  struct Base {
    std::size_t rule;
    Terms terms;
    BaseWindow window;             // for logs
    std::array<double, 2> values;  // of other limits
    double handed_on;              // above 0: the override's counter begins, with so much spent
  };

  void load(std::size_t group);
  void load_by_id(std::size_t group);
  double load_base(Base& base, std::size_t group);
  void begin_overrides(std::size_t group);
  const Base* base_of(std::size_t rule) const;
  void apply_override(const OverrideEntry& entry, std::size_t rule);
  Judged judge_rule(std::size_t rule, double last);
  Charged charge_rule(std::size_t rule, double charge, bool charges, Outcome& outcome);
  double park_bases(std::size_t group, bool charges);
  void store(std::size_t group, double longest, bool charges);

  const Call& call_;
  const Program& program_;
  std::span<Cell* const> cells_;
  const double now_;

  boost::container::static_vector<Terms, kMaxLimitsPerPlan> terms_;
  std::array<std::uint32_t, kMaxLimitsPerPlan> ids_;
  std::array<double, kMaxValues> values_;
  std::array<std::uint8_t, kMaxLimitsPerPlan> at_;     // by rule: index of its first value in values_
  std::array<std::int64_t, kMaxLimitsPerPlan> waits_;  // by rule: µs until it admits the cost
  std::array<Entries*, kMaxLimitsPerPlan> entries_;    // by rule: nullptr before the first charge
  std::array<double, kMaxLimitsPerPlan> last_;         // by group: time of the last charge, at most now_
  std::array<bool, kMaxLimitsPerPlan> overridden_{};   // by group: an override has replaced a counter id
  boost::container::static_vector<Base, kMaxLimitsPerPlan> bases_;
  // Even a denial is written: the clock has stepped back since the last charge of a cell, or an override begins.
  bool must_write_ = false;
  bool allowed_ = true;
};

void Judging::apply_override(const OverrideEntry& entry, std::size_t rule) {
  Terms& terms = terms_[rule];
  if (entry.limit >= 0 && !program_.rules[rule].brought) terms.limit = entry.limit;
  if (entry.p >= 0) terms.p = entry.p;
  if (entry.q >= 0) terms.q = entry.q;
  if (entry.counter_id != 0) ids_[rule] = entry.counter_id;
  if (const auto derived_q = traits_of(terms.kind).derived_q) terms.q = derived_q(terms.limit, terms.p, ids_[rule]);
}

// Usually copies all values of the cell. If the cell was stored for rules with other counter ids, or an override has
// replaced a counter id, finds the values by counter id.
void Judging::load(std::size_t g) {
  const Group& group = program_.groups[g];
  Cell& cell = *cells_[g];
  cell.forget_expired(now_);
  last_[g] = cell.time;
  if (last_[g] > now_) {
    last_[g] = now_;
    must_write_ = true;
  }
  for (std::size_t i = group.first; i < std::size_t{group.first} + group.count; ++i) {
    const OverrideEntry* found = nullptr;  // if several entries name the limit, the last one applies
    for (const OverrideEntry& entry : cell.overrides()) {
      if (entry.name_id == program_.rules[i].name_id && entry.expires_us > now_) found = &entry;
    }
    if (found == nullptr) continue;
    const Terms base = terms_[i];
    apply_override(*found, i);
    const std::uint32_t id = program_.rules[i].counter_id;
    if (ids_[i] == id) continue;
    overridden_[g] = true;
    // A check that brings the limit does not know the base's. Its log keeps what any limit can need.
    const double limit = program_.rules[i].brought ? static_cast<double>(kMaxLogLimit) : base.limit;
    bases_.push_back({i, base, {base.p, limit, id}, {}, 0});
  }
  if (cell.layout == group.layout && !overridden_[g]) {
    std::ranges::copy(cell.values(), &values_[at_[group.first]]);
  } else {
    load_by_id(g);
  }
}

// A rule without stored values gets zeros. After an override of the window, the plan's counter goes on.
void Judging::load_by_id(std::size_t g) {
  const Group& group = program_.groups[g];
  const Cell& cell = *cells_[g];
  for (std::size_t i = group.first; i < std::size_t{group.first} + group.count; ++i) {
    const std::uint32_t width = ids_[i] % 4;
    std::fill_n(&values_[at_[i]], width, 0.0);
    const double* stored = cell.find(ids_[i]);
    if (ids_[i] == program_.rules[i].counter_id) {
      if (const double* parked = cell.find_parked(ids_[i], now_)) stored = parked;
    }
    if (stored != nullptr) std::copy_n(stored, width, &values_[at_[i]]);
  }
  bool begins = false;
  for (Base& base : bases_) {
    if (program_.rules[base.rule].group != g || program_.rules[base.rule].keeps_entries) continue;
    const double spent = load_base(base, g);
    base.handed_on = cell.find(ids_[base.rule]) == nullptr ? spent : 0;
    begins |= base.handed_on > 0;
  }
  if (begins) begin_overrides(g);
}

// Brings the base's values forward to now. Returns what the base has spent in its current window.
double Judging::load_base(Base& base, std::size_t g) {
  const Cell& cell = *cells_[g];
  const double* stored = cell.find_parked(base.window.counter_id, now_);
  if (stored == nullptr) stored = cell.find(base.window.counter_id);
  if (stored != nullptr) std::copy_n(stored, base.window.counter_id % 4, base.values.begin());
  judge(base.terms, base.values.data(), now_, last_[g]);
  return base.terms.limit - limiter::charge(base.terms, base.values.data(), now_, 0, false).left;
}

// The counters of overrides begin as if what the bases have spent were spent now. All counters of a cell share one
// time, so the others are brought forward to now. Later calls must not begin with what the bases have spent then, so
// this call writes the cell even if it is denied.
void Judging::begin_overrides(std::size_t g) {
  const Group& group = program_.groups[g];
  for (std::size_t i = group.first; i < std::size_t{group.first} + group.count; ++i) {
    if (program_.rules[i].keeps_entries) continue;
    judge(terms_[i], &values_[at_[i]], now_, last_[g]);
    limiter::charge(terms_[i], &values_[at_[i]], now_, 0, false);
  }
  last_[g] = now_;
  must_write_ = true;
  for (const Base& base : bases_) {
    if (program_.rules[base.rule].group != g || base.handed_on == 0) continue;
    limiter::charge(terms_[base.rule], &values_[at_[base.rule]], now_, base.handed_on, true);
  }
}

const Judging::Base* Judging::base_of(std::size_t rule) const {
  const auto found = std::ranges::find(bases_, rule, &Base::rule);
  return found == bases_.end() ? nullptr : &*found;
}

Judged Judging::judge_rule(std::size_t i, double last) {
  const Terms& terms = terms_[i];
  if (!program_.rules[i].keeps_entries) return judge(terms, &values_[at_[i]], now_, last);
  Cell& cell = *cells_[program_.rules[i].group];
  entries_[i] = nullptr;
  if (terms.cost == 0 && cell.existing_extras() == nullptr) return {-terms.limit, 0};
  entries_[i] = &cell.extras().entries(terms.kind, program_.limits[i].name);
  const Base* const base = base_of(i);
  return entries_[i]->judge(terms, now_, ids_[i], base == nullptr ? nullptr : &base->window);
}

bool Judging::read_and_judge(std::span<const PeriodBounds> periods) {
  std::uint8_t value = 0;
  for (std::size_t i = 0; i < program_.rules.size(); ++i) {
    const Rule& rule = program_.rules[i];
    terms_.push_back(
        {rule.kind, static_cast<double>(call_.costs[i]), rule.limit, rule.p, rule.q, program_.max_delay_us});
    if (rule.periodic) {
      terms_[i].p = static_cast<double>(periods[i].from_us);
      terms_[i].q = static_cast<double>(periods[i].to_us);
      if (now_ < terms_[i].p || now_ >= terms_[i].q) return false;
    }
    ids_[i] = rule.counter_id;
    at_[i] = value;
    value = static_cast<std::uint8_t>(value + rule.counter_id % 4);
  }
  for (std::size_t g = 0; g < program_.groups.size(); ++g) load(g);
  for (std::size_t i = 0; i < program_.rules.size(); ++i) {
    Judged judged = judge_rule(i, last_[program_.rules[i].group]);
    const Terms& terms = terms_[i];
    waits_[i] = 0;
    if (denies(terms, judged)) {
      allowed_ = false;
      waits_[i] = never_fits(terms) ? kNever : static_cast<std::int64_t>(judged.wait_us);
    }
  }
  return true;
}

Charged Judging::charge_rule(std::size_t i, double charge, bool charges, Outcome& outcome) {
  const Terms& terms = terms_[i];
  if (!program_.rules[i].keeps_entries) return limiter::charge(terms, &values_[at_[i]], now_, charge, charges);
  if (!entries_[i]) return {terms.limit, 0, 0};
  if (charge == 0 || !program_.rules[i].takes_leases) return entries_[i]->charge(terms, now_, charge, {});
  outcome.took_lease(i, static_cast<std::int64_t>(terms.p));
  std::string_view draw(reinterpret_cast<const char*>(call_.draw.data()), call_.draw.size());
  return entries_[i]->charge(terms, now_, charge, lease_member(draw, charge, terms.p));
}

// Charges the bases too, and keeps them in the cell until they are untouched. Returns when the last one is, or 0.
double Judging::park_bases(std::size_t g, bool charges) {
  Cell& cell = *cells_[g];
  if (CellExtras* extras = cell.existing_extras()) extras->parked.clear();
  double last = 0;
  for (Base& base : bases_) {
    if (program_.rules[base.rule].group != g || program_.rules[base.rule].keeps_entries) continue;
    const double cost = charges ? base.terms.cost : 0;
    const double reset_us = limiter::charge(base.terms, base.values.data(), now_, cost, charges).reset_us;
    if (reset_us == 0) continue;
    cell.extras().parked.push_back({base.window.counter_id, now_ + reset_us, base.values});
    last = std::max(last, now_ + reset_us);
  }
  return last;
}

void Judging::store(std::size_t g, double longest, bool charges) {
  const Group& group = program_.groups[g];
  Cell& cell = *cells_[g];
  std::size_t end = std::size_t{group.first} + group.count;
  std::size_t value_end =
      end < program_.rules.size() ? at_[end] : at_[end - 1] + program_.rules[end - 1].counter_id % 4;
  if (CellExtras* extras = cell.existing_extras()) {
    std::erase_if(extras->overrides, [&](const OverrideEntry& entry) { return entry.expires_us <= now_; });
  }
  double ttl_ms = std::max({1.0, std::ceil(longest / 1000), std::ceil((park_bases(g, charges) - now_) / 1000)});
  for (const OverrideEntry& entry : cell.overrides())
    ttl_ms = std::max(ttl_ms, std::ceil((entry.expires_us - now_) / 1000));
  // In this order: if the counters find no memory, the cell still expires, and its layout is that of its old counters.
  cell.expires_ms = std::floor(now_ / 1000) + ttl_ms;
  cell.set_counters({&ids_[group.first], ids_.data() + end}, {&values_[at_[group.first]], values_.data() + value_end});
  cell.time = now_;
  cell.layout = overridden_[g] ? 0 : group.layout;
}

void Judging::charge_and_report(bool charges, Outcome& outcome) {
  outcome.allowed = allowed_;
  outcome.now_us = static_cast<std::int64_t>(now_);
  boost::container::static_vector<LimitReport, kMaxLimitsPerPlan> reports;
  std::int64_t delay = 0, retry = 0;
  for (std::size_t g = 0; g < program_.groups.size(); ++g) {
    const Group& group = program_.groups[g];
    bool charged = false;
    double longest = 0;
    for (std::size_t i = group.first; i < std::size_t{group.first} + group.count; ++i) {
      double charge = charges ? terms_[i].cost : 0;
      Charged c = charge_rule(i, charge, charges, outcome);
      reports.push_back({waits_[i] == 0, static_cast<std::int64_t>(terms_[i].limit),
                         static_cast<std::int64_t>(std::max(0.0, c.left)), static_cast<std::int64_t>(c.reset_us),
                         waits_[i], static_cast<std::int64_t>(c.hold_us)});
      if (!program_.rules[i].keeps_entries) {
        charged |= charge > 0;
        longest = std::max(longest, c.reset_us);
      }
      if (charge > 0) delay = std::max(delay, reports[i].delay_us);
      if (waits_[i] == kNever || (retry != kNever && waits_[i] > retry)) retry = waits_[i];
    }
    if (charged || must_write_) store(g, longest, charges);
  }
  std::span<const LimitReport> found(reports.data(), program_.rules.size());
  outcome.binding = static_cast<std::uint8_t>(binding_limit(call_, found));
  outcome.report = reports[outcome.binding];
  outcome.report.retry_after_us = retry;
  outcome.report.delay_us = delay;
  if (charges && program_.has_quotas) find_quota_marks(call_, found, outcome);
  if (call_.explain) outcome.limits.assign(found.begin(), found.end());
}

}  // namespace

std::optional<Outcome> judge_in_memory(const Call& call, std::span<Cell* const> cells,
                                       std::span<const PeriodBounds> periods, std::int64_t now_us) {
  Judging judging(call, cells, static_cast<double>(now_us));
  std::optional<Outcome> outcome;  // filled in place, because it is large
  if (judging.read_and_judge(periods)) judging.charge_and_report(judging.admits(), outcome.emplace());
  return outcome;
}

bool judge_together_in_memory(std::span<const MemoryPart> parts, std::int64_t now_us, std::span<Outcome> out,
                              bool may_charge) {
  std::vector<Judging> judgings;
  judgings.reserve(parts.size());
  bool all_admit = may_charge;
  for (const MemoryPart& part : parts) {
    Judging& judging = judgings.emplace_back(*part.call, part.cells, static_cast<double>(now_us));
    if (!judging.read_and_judge(part.periods)) return false;
    all_admit = all_admit && judging.admits();
  }
  for (std::size_t i = 0; i < parts.size(); ++i) judgings[i].charge_and_report(all_admit, out[i]);
  return true;
}

std::size_t binding_limit(const Call& call, std::span<const LimitReport> reports) {
  bool denied = std::ranges::any_of(reports, [](const LimitReport& r) { return !r.admitted; });
  auto binds_more = [&](std::size_t a, std::size_t b) {
    const LimitReport &x = reports[a], &y = reports[b];
    if (denied) {
      if (x.admitted != y.admitted) return !x.admitted;
      if (x.retry_after_us != y.retry_after_us) {
        return x.retry_after_us == kNever || (y.retry_after_us != kNever && x.retry_after_us > y.retry_after_us);
      }
    } else {
      if ((call.costs[a] > 0) != (call.costs[b] > 0)) return call.costs[a] > 0;
      auto share = [](const LimitReport& r) {
        return r.limit > 0 ? static_cast<double>(r.remaining) / static_cast<double>(r.limit) : 0.0;
      };
      if (share(x) != share(y)) return share(x) < share(y);
    }
    return call.program->plan_position[a] < call.program->plan_position[b];
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < reports.size(); ++i) {
    if (binds_more(i, best)) best = i;
  }
  return best;
}

void find_quota_marks(const Call& call, std::span<const LimitReport> reports, Outcome& outcome) {
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (!call.program->rules[i].periodic) continue;
    const std::int64_t limit = reports[i].limit, used = limit - reports[i].remaining;
    for (const std::uint8_t percent : kQuotaMarks) {
      if (!reaches_mark(limit, used, call.costs[i], percent)) continue;
      outcome.marks.push_back({static_cast<std::uint8_t>(i), percent, limit, used});
    }
  }
}

void quota_periods(const Program& program, std::int64_t now_us, std::span<PeriodBounds> out) {
  for (std::size_t i = 0; i < program.rules.size(); ++i) {
    if (program.rules[i].periodic) out[i] = period_at(program.limits[i].period, program.limits[i].anchor, now_us);
  }
}

}  // namespace sluice::limiter
