#include "tests/integration/equivalence/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "common/limiter/algorithms/lease_set.hpp"
#include "common/limiter/memory_judge.hpp"
#include "common/limiter/traits.hpp"
#include "tests/integration/equivalence/outcome_text.hpp"
#include "tests/integration/support/driven_clock/driven_clock.hpp"

namespace sluice::test {
namespace {

using limiter::Call;
using limiter::LeaseRef;
using limiter::Outcome;
using limiter::OverrideEntry;
using limiter::Script;

Flavour flavour_of(std::int64_t index) {
  if (index % 25 == 7) return Flavour::crowded;
  if (index % 8 == 3) return Flavour::windowed;
  return index % 4 == 1 ? Flavour::single : Flavour::mixed;
}

}  // namespace

World::World(const Random& seeds, std::int64_t index, Pipeline& pipeline, Tally& tally,
             const InstrumentedShas* instrumented, bool verbose)
    : random_(seeds.fork(static_cast<std::uint64_t>(index))),
      index_(index),
      pipeline_(pipeline),
      tally_(tally),
      instrumented_(instrumented),
      verbose_(verbose),
      flavour_(flavour_of(index)),
      memory_(
          clock_, 1, limiter::MemoryBudget::kUnlimited,
          index % 2 == 0 ? limiter::MemoryCounters::UsedBy::any_thread : limiter::MemoryCounters::UsedBy::one_thread) {
  plan_ = random_plan(random_, flavour_);
  if (flavour_ == Flavour::windowed) window_overrides_ = random_window_overrides(random_, plan_.limits[0], 3);
  adopt_plan();
  companion_plan_ = random_.percent(40) ? plan_ : random_plan(random_, flavour_);  // equal plans share arguments
  companion_ =
      std::make_shared<const limiter::Program>(limiter::compile(companion_plan_.limits, companion_plan_.max_delay));
}

void World::run(std::int64_t steps) {
  set_time(random_.between(DrivenClock::kFirst, 4'000'000'000'000'000));
  for (std::int64_t i = 0; i < steps; ++i) {
    move();
    const std::int64_t what = random_.below(100);
    if (what < 8 && !leases_.empty()) {
      change_lease();
      continue;
    }
    if (flavour_ == Flavour::mixed && what == 92) {
      reset();
      continue;
    }
    if (flavour_ == Flavour::windowed && what > 84) {
      put_window_override();
      continue;
    }
    if (flavour_ == Flavour::mixed && what > 92) {
      put_overrides();
      continue;
    }
    if (flavour_ == Flavour::mixed && what >= 88) change_plan();
    const Call call = make_call();
    const Outcome outcome = judge(call);
    if (!outcome.allowed) retry(call, outcome);
  }
  if (memory_.size() > 2 * keys_.size() + 2)
    fail(fmt::format("memory keeps {} keys of {}", memory_.size(), keys_.size()));
  auto& del = pipeline_.command([](const redis::Reply&) {});
  del.array(1 + 3 * keys_.size()).bulk("DEL");
  for (const std::string& key : keys_) {
    for (const char* prefix : {"sl", "cv", "sh"}) del.bulk(prefix + key.substr(2));
  }
}

void World::adopt_plan() {
  program_ = std::make_shared<const limiter::Program>(limiter::compile(plan_.limits, plan_.max_delay));
  ++numbers_;
  log("plan: " + to_text(plan_));
}

// The APIs judge overrides together with the plan they are for, so most edits leave the ones in force acceptable.
bool World::overrides_fit(const RandomPlan& plan) const {
  for (const auto& [key, entries] : overrides_) {
    for (const OverrideEntry& entry : entries) {
      for (const Limit& limit : plan.limits) {
        if (limiter::name_id(limit) == entry.name_id && !acceptable(with(limit, entry), plan.max_delay)) return false;
      }
    }
  }
  return true;
}

void World::change_plan() {
  RandomPlan changed = plan_;
  edit(random_, changed);
  if (!overrides_fit(changed) && random_.percent(95)) return;
  plan_ = std::move(changed);
  adopt_plan();
  tally_.edits++;
}

// As the policy layer names them: a group that adds dimensions has a key of its own behind the hash tag.
std::string World::group_key(std::size_t group, bool put) const {
  std::string key = fmt::format("sl:{{t|subject=w{}}}:p=x", index_);
  const limiter::Group& compiled = program_->groups[group];
  if (compiled.added.empty()) return key;
  return key + ":k=" + program_->limits[compiled.first].name + (put ? "|method=PUT" : "|method=GET");
}

std::vector<std::string> World::collection_keys(const Call& call) const {
  std::vector<std::string> keys;
  const limiter::Program& program = *call.program;
  for (std::size_t i = 0; i < program.rules.size(); ++i) {
    const limiter::Rule& rule = program.rules[i];
    if (!rule.keeps_entries) continue;
    keys.push_back(call.keys[rule.group] + std::string(limiter::traits_of(rule.kind).key_mark) +
                   program.limits[i].name);
  }
  return keys;
}

std::int64_t World::random_cost(const std::string& unit) {
  if (flavour_ == Flavour::crowded) return random_.percent(90) ? random_.between(1, 2) : random_.between(0, 200);
  const std::int64_t left = left_.contains(unit) ? left_[unit] : random_.between(1, 10);
  switch (random_.below(12)) {
    case 0:
      return 0;
    case 1:
      return std::min(left, kMaxCost);
    case 2:
      return std::min(left + 1, kMaxCost);
    case 3:
      return std::min(random_.scale(left + 1), kMaxCost);
    case 4: {
      const Limit& limit = random_.pick(plan_.limits);
      if (limit.unit != unit) return 2;
      return std::clamp<std::int64_t>(limit.limit + random_.between(-1, random_.percent(20) ? 1 : 0), 0, kMaxCost);
    }
    case 5:
      if (random_.percent(70)) return 1;
      return random_.percent(10) ? kMaxCost - random_.below(2) : random_.scale(kMaxCost);
    case 6:
      return random_.between(2, 12);
    default:
      return 1;
  }
}

Call World::make_call() {
  Call call;
  call.program = program_.get();
  call.explain = random_.percent(50);
  const bool put = random_.percent(30);
  for (std::size_t g = 0; g < program_->groups.size(); ++g) call.keys.push_back(group_key(g, put));
  std::map<std::string, std::int64_t> costs;
  for (const char* unit : kUnits) costs[unit] = random_cost(unit);
  for (std::size_t i = 0; i < program_->rules.size(); ++i) {
    call.costs[i] = static_cast<std::uint32_t>(costs[program_->limits[i].unit]);
  }
  if (random_.percent(50)) call.first_hash = limiter::CounterHash::of(call.keys[0]);
  for (unsigned char& byte : call.draw) byte = static_cast<unsigned char>(random_.below(256));
  keys_.insert(call.keys.begin(), call.keys.end());
  for (std::string& key : collection_keys(call)) keys_.insert(std::move(key));
  if (asked_ != program_) ++numbers_;
  asked_ = program_;
  if (flavour_ == Flavour::mixed && random_.percent(10)) bring_limits(call);
  return call;
}

// The APIs bound what a check may bring, so that it fits the plan and each override.
bool World::may_bring(const Call& call, std::size_t rule, std::int64_t limit) const {
  const auto fits = [&](Limit changed) {
    changed.limit = limit;
    return acceptable(changed, plan_.max_delay);
  };
  const Limit& own = program_->limits[rule];
  if (!fits(own)) return false;
  const auto stored = overrides_.find(call.keys[program_->rules[rule].group]);
  if (stored == overrides_.end()) return true;
  return std::ranges::all_of(stored->second, [&](const OverrideEntry& entry) {
    return entry.name_id != program_->rules[rule].name_id || fits(with(own, entry));
  });
}

void World::bring_limits(Call& call) {
  std::array<std::int64_t, kMaxLimitsPerPlan> limits{};
  for (std::size_t i = 0; i < program_->rules.size(); ++i) {
    const std::int64_t limit = random_.percent(50)
                                   ? random_.between(1, std::max<std::int64_t>(1, program_->limits[i].limit))
                                   : 1 + random_.scale(2 * program_->limits[i].limit + 10);
    if (random_.percent(60) && may_bring(call, i, limit)) limits[i] = limit;
  }
  asked_ = std::make_shared<const limiter::Program>(limiter::with_limits(*program_, limits));
  call.program = asked_.get();
  ++numbers_, ++tally_.brought;
  log(fmt::format("brings {}",
                  fmt::join(limits.begin(), limits.begin() + static_cast<std::ptrdiff_t>(asked_->rules.size()), ",")));
}

// Both implementations judge; what the server says is compared when its answer comes.
Outcome World::judge(const Call& call) {
  ++step_, ++tally_.steps, ++tally_.checks;
  if (program_->has_quotas && random_.percent(3)) send_wrong_period(call);
  if (instrumented_ != nullptr) ++tally_.counted;
  if (random_.percent(25)) return judge_jointly(call);
  const Outcome outcome = *memory_.judge(call);
  expect_outcome("sl", call, outcome);
  if (instrumented_ != nullptr) expect_outcome("cv", call, outcome);
  if (has_reference()) compare_with_reference(call, outcome, plan_, outcome.allowed);
  note(call, outcome, outcome.allowed);
  return outcome;
}

void World::expect_outcome(std::string_view prefix, const Call& call, const Outcome& outcome) {
  send_check(prefix, call, clock_.now,
             [where = origin(), program = asked_, asked = as_asked(call), outcome](const redis::Reply& reply) {
               expect_same(where, asked, false, outcome, reply);
             });
}

// What a reply is read by.
Call World::as_asked(const Call& call) {
  Call asked;
  asked.program = call.program;
  asked.explain = call.explain;
  asked.costs = call.costs;
  return asked;
}

void World::expect_same(const std::string& where, const Call& asked, bool together, const Outcome& outcome,
                        const redis::Reply& reply) {
  if (reply.is_error()) throw std::runtime_error(where + "the script failed: " + std::string(reply.text));
  const auto read = limiter::read_check(reply, asked, together);
  if (!read || !read->outcome) throw std::runtime_error(where + "the script's reply cannot be read");
  const std::string differs = difference(outcome, *read->outcome);
  if (!differs.empty()) throw std::runtime_error(where + "memory | server:\n" + differs);
}

// The agent's clock may be off: where the script's period does not hold, it says its time and changes nothing.
void World::send_wrong_period(const Call& call) {
  const std::int64_t off = clock_.now + random_.pick<std::int64_t>({-1, 1}) * (random_.scale(70'000'000'000'000));
  std::array<PeriodBounds, kMaxLimitsPerPlan> now, wrong;
  limiter::quota_periods(*program_, clock_.now, now);
  limiter::quota_periods(*program_, off, wrong);
  bool differs = false;
  for (std::size_t i = 0; i < program_->rules.size(); ++i) {
    if (program_->rules[i].periodic) differs |= !(now[i] == wrong[i]);
  }
  if (!differs) return;
  ++tally_.wrong_periods;
  limiter::Cell untouched;
  const std::vector<limiter::Cell*> cells(program_->groups.size(), &untouched);
  if (limiter::judge_in_memory(call, cells, wrong, clock_.now)) fail("memory took a wrong period");
  for (std::string_view prefix : {"sl", "cv"}) {
    if (prefix == "cv" && instrumented_ == nullptr) break;
    send_check(prefix, call, off, [where = origin(), program = program_, at = clock_.now](const redis::Reply& reply) {
      Call asked;
      asked.program = program.get();
      const auto read = limiter::read_check(reply, asked);
      if (!read || read->outcome) throw std::runtime_error(where + "a wrong period was taken");
      if (read->wrong_period.now_us != at) throw std::runtime_error(where + "the server's time is another");
    });
  }
}

Reference& World::reference_of(const std::string& counter_key, const RandomPlan& plan) {
  return references_.try_emplace(counter_key, plan.limits[0], plan.max_delay).first->second;
}

// What admits and is not charged, because another rulebook of the call denies, answers like a read that waits for
// nothing.
void World::compare_with_reference(const Call& call, const Outcome& outcome, const RandomPlan& plan, bool charged) {
  const std::string_view draw(reinterpret_cast<const char*>(call.draw.data()), call.draw.size());
  const std::string member = limiter::lease_member(draw, call.costs[0], call.program->rules[0].p);
  const bool kept_back = outcome.allowed && !charged;
  const std::int64_t cost = kept_back ? 0 : call.costs[0];
  Reference& reference = reference_of(call.keys[0], plan);
  const OverrideEntry* const entry = override_of(call, 0);
  LimitReport expected = entry == nullptr ? reference.judge(cost, clock_.now, member)
                                          : reference.judge_overridden(with(plan.limits[0], *entry), cost, clock_.now);
  if (kept_back) expected.delay_us = 0;
  if (!call.explain && call.costs[0] == 0) expected.delay_us = 0;  // the decision's: a read waits for nothing
  const LimitReport& found = call.explain ? outcome.limits[0] : outcome.report;
  ++tally_.referenced;
  const std::string differs = difference(expected, found);
  if (!differs.empty()) fail("reference | both:\n" + differs);
}

void World::note(const Call& call, const Outcome& outcome, bool charged) {
  log(fmt::format(
      "costs {} explain {}: {}",
      fmt::join(call.costs.begin(), call.costs.begin() + static_cast<std::ptrdiff_t>(program_->rules.size()), ","),
      call.explain, to_text(outcome)));
  landmarks_.clear();
  auto mark = [&](std::int64_t us) {
    if (us > 0) landmarks_.push_back(clock_.now + us);
  };
  left_.clear();
  for (std::size_t i = 0; i < program_->rules.size(); ++i) {
    Tally::OfKind& kind = tally_.kinds[program_->rules[i].kind];
    kind.judged++;
    const LimitReport* report = call.explain ? &outcome.limits[i] : i == outcome.binding ? &outcome.report : nullptr;
    if (report == nullptr) continue;
    kind.denied += !report->admitted;
    mark(report->reset_after_us), mark(report->retry_after_us), mark(report->delay_us);
    const std::string& unit = program_->limits[i].unit;
    left_[unit] = left_.contains(unit) ? std::min(left_[unit], report->remaining) : report->remaining;
  }
  if (!outcome.allowed) {
    ++tally_.denials;
    return;
  }
  if (!charged) return;
  std::vector<LeaseRef> taken;
  for (std::size_t i = 0; i < program_->rules.size(); ++i) {
    const limiter::Rule& rule = program_->rules[i];
    if (!rule.keeps_entries && call.costs[i] > 0) written_with_[call.keys[rule.group]] = numbers_;
    if (outcome.lease_ttl_us(i) == 0) continue;
    mark(outcome.lease_ttl_us(i));
    const std::string_view draw(reinterpret_cast<const char*>(call.draw.data()), call.draw.size());
    taken.push_back({call.keys[rule.group], program_->limits[i].name,
                     limiter::lease_member(draw, call.costs[i], static_cast<double>(outcome.lease_ttl_us(i)))});
  }
  tally_.leases_taken += static_cast<std::int64_t>(taken.size());
  if (!taken.empty()) leases_.push_back(std::move(taken));
  if (leases_.size() > 500) leases_.erase(leases_.begin());
}

}  // namespace sluice::test
