// How a history moves in time, what it asks after a denial, and its way to the server.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "common/domain/algorithm.hpp"
#include "common/limiter/memory_judge.hpp"
#include "tests/integration/equivalence/outcome_text.hpp"
#include "tests/integration/equivalence/world.hpp"
#include "tests/integration/support/driven_clock/driven_clock.hpp"

namespace sluice::test {

using limiter::Call;
using limiter::CallBy;
using limiter::Outcome;
using limiter::OverrideEntry;
using limiter::Script;

namespace {

std::int64_t first_number(const redis::Reply& reply, const std::string& where) {
  if (reply.elements.size() < 2) throw std::runtime_error(where + "the script failed: " + std::string(reply.text));
  return reply.elements[0].integer;
}

}  // namespace

// An instant at which something is about to change for the present plan.
std::int64_t World::landmark() {
  const std::int64_t now = clock_.now;
  if (!landmarks_.empty() && random_.percent(60)) return random_.pick(landmarks_);
  if (!overrides_.empty() && random_.percent(30)) {
    for (const auto& [key, entries] : overrides_) {
      for (const OverrideEntry& entry : entries) {
        if (entry.expires_us > static_cast<double>(now) && entry.expires_us < 4e15 && random_.percent(40)) {
          return static_cast<std::int64_t>(entry.expires_us);
        }
      }
    }
  }
  const Limit& limit = random_.pick(plan_.limits);
  switch (limit.algorithm) {
    case Algorithm::quota: {
      const PeriodBounds period = period_at(limit.period, limit.anchor, now);
      return random_.percent(80) ? period.to_us : period.from_us;
    }
    case Algorithm::concurrency:
      return now + random_.between(1, 2) * limit.lease_ttl.count();
    default:
      if (is_bucket(limit.algorithm)) return now + scale_of(limit);
      return (now / limit.window.count() + random_.between(0, 2)) * limit.window.count();
  }
}

std::int64_t World::next_time() {
  const std::int64_t now = clock_.now;
  const std::int64_t scale = scale_of(random_.pick(plan_.limits));
  if (flavour_ == Flavour::crowded && random_.percent(80)) {
    // Now and then back so far that some leases lie too far ahead and others do not.
    return random_.percent(3) ? now - random_.between(scale, 2 * scale) : now + random_.below(1 + scale / 200);
  }
  const std::int64_t what = random_.below(100);
  if (what < 25) return now;
  if (what < 33) return now + 1;
  if (what < 55) return now + random_.scale(2 * scale);
  if (what < 63) return now + random_.below(1 + scale / 4);
  if (what < 88) return landmark() + random_.between(-1, 1);
  if (what < 90)
    return (now / 1000 + random_.scale(1 + scale / 1000)) * 1000 + random_.pick<std::int64_t>({0, 0, -1, 999});
  if (what < 92) return now + random_.scale(31'000'000'000'000);
  if (what < 96) return now - random_.scale(2 * scale);
  if (what < 98) return now - random_.between(0, 1) - (landmark() - now);
  return now - random_.scale(100'000'000'000'000);
}

void World::move() {
  const std::int64_t to = next_time();
  const std::int64_t last = DrivenClock::kLast - 100'000'000'000'000;
  if (flavour_ == Flavour::windowed) return set_time(std::clamp(to, clock_.now, std::max(clock_.now, last)));
  set_time(to > last ? random_.between(DrivenClock::kFirst, 3'000'000'000'000'000) : std::max(to, DrivenClock::kFirst));
}

void World::set_time(std::int64_t to) {
  const std::int64_t from = clock_.now;
  if (to == from) return;
  if (to < from) forget_before_stepping_back();
  for (const auto& [key, entries] : overrides_) {
    for (const OverrideEntry& entry : entries) {
      const bool before = entry.expires_us <= static_cast<double>(from),
                 after = entry.expires_us <= static_cast<double>(to);
      if (before != after) ++numbers_;
    }
  }
  clock_.now = to;
  log(fmt::format("time {} ({:+})", to, to - from));
  DrivenClock::write_set(pipeline_.command([where = origin()](const redis::Reply& reply) {
    if (reply.is_error()) throw std::runtime_error(where + "the clock: " + std::string(reply.text));
  }),
                         to);
}

// The server deletes an expired key when a command touches it, memory when it touches or sweeps the cell; until then
// both keep it, each its own ones. Nobody can see that while time goes forward, as expired state answers like absent
// state. But when the clock steps back to before the expiry, what was kept counts again and what was deleted does not.
// Both are right (a deployed Redis expires keys whenever it likes), so before a step back both are made to forget all
// that is expired: every key is touched, every cell is swept.
void World::forget_before_stepping_back() {
  ++tally_.steps_back;
  memory_.forget_expired();
  for (auto& [key, reference] : references_) reference.expire(clock_.now);
  if (keys_.empty()) return;
  auto& exists = pipeline_.command([](const redis::Reply&) {});
  exists.array(1 + 2 * keys_.size()).bulk("EXISTS");
  for (const std::string& key : keys_) exists.bulk(key).bulk("cv" + key.substr(2));
}

bool World::numbers_changed_since_written(const Call& call) const {
  for (std::size_t g = 0; g < program_->groups.size(); ++g) {
    auto written = written_with_.find(call.keys[g]);
    if (written != written_with_.end() && written->second != numbers_) return true;
  }
  return false;
}

bool World::override_ends_by(const Call& call, std::int64_t at) const {
  for (std::size_t g = 0; g < program_->groups.size(); ++g) {
    auto found = overrides_.find(call.keys[g]);
    if (found == overrides_.end()) continue;
    for (const OverrideEntry& entry : found->second) {
      if (entry.expires_us > static_cast<double>(clock_.now) && entry.expires_us <= static_cast<double>(at))
        return true;
    }
  }
  return false;
}

const OverrideEntry* World::override_of(const Call& call, std::size_t rule) const {
  const auto entries = overrides_.find(call.keys[program_->rules[rule].group]);
  if (entries == overrides_.end()) return nullptr;
  const OverrideEntry* found = nullptr;
  for (const OverrideEntry& entry : entries->second) {
    const bool live = entry.expires_us > static_cast<double>(clock_.now);
    if (live && entry.name_id == program_->rules[rule].name_id) found = &entry;
  }
  return found;
}

// The APIs refuse numbers with which the arithmetic would not be exact. But an override accepted for one plan may meet
// another one after an edit, and so may what was spent under a larger capacity and a coarser rate.
// REQUIRES: the call was just denied, so asking again changes nothing.
bool World::numbers_are_exact(const Call& call) {
  constexpr double kExact = 9007199254740992;  // 2^53
  Call again = call;
  again.explain = true;
  const Outcome explained = *memory_.judge(again);
  for (std::size_t i = 0; i < program_->rules.size(); ++i) {
    const limiter::Rule& rule = program_->rules[i];
    const OverrideEntry* entry = override_of(call, i);
    const double p = entry != nullptr && entry->p >= 0 ? entry->p : rule.p;
    const double q = entry != nullptr && entry->q >= 0 ? entry->q : rule.q;
    const auto limit = static_cast<double>(explained.limits[i].limit);
    const auto reset = static_cast<double>(explained.limits[i].reset_after_us);
    if (is_bucket(program_->limits[i].algorithm)) {
      if (limit * q + program_->max_delay_us * p > kExact / 4 || reset * p > kExact) return false;
    } else if (rule.kind == limiter::Kind::sliding_window && limit * std::ceil(p / 1e6) > kExact) {
      return false;
    }
  }
  return true;
}

// A call made exactly retry_after later passes, one microsecond earlier it does not. That is promised for the numbers
// in force now: a denial is exempt where an override ends before. Its early half is exempt where numbers changed since
// the state was written and a key is gone by then, as what is spent is kept only as long as the state lives, and for
// how long was set by the former numbers.
void World::retry(const Call& call, const Outcome& denial) {
  const std::int64_t wait = denial.report.retry_after_us;
  if (wait < 0) {
    ++tally_.never;
    return;
  }
  const std::int64_t at = clock_.now + wait;
  if (wait > DrivenClock::kLast - clock_.now || override_ends_by(call, at)) {
    ++tally_.exempt;
    return;
  }
  if (!numbers_are_exact(call)) {
    ++tally_.inexact;
    return;
  }
  if (!numbers_changed_since_written(call) && random_.percent(50))
    retry_in_place(call, at);
  else
    retry_on_copies(call, at);
}

void World::retry_in_place(const Call& call, std::int64_t at) {
  set_time(at - 1);
  const Outcome early = judge(call);
  if (early.allowed || early.report.retry_after_us != 1) {
    fail(fmt::format("1 us before retry_after: allowed {}, retry_after_us {}", early.allowed,
                     early.report.retry_after_us));
  }
  ++tally_.early_denied;
  set_time(at);
  if (!judge(call).allowed) fail("denied at retry_after");
  ++tally_.passed_in_place;
}

// On copies of the call's keys, so that the history goes on from the denial.
void World::retry_on_copies(const Call& call, std::int64_t at) {
  std::vector<std::string> keys(call.keys);
  for (std::string& key : collection_keys(call)) keys.push_back(std::move(key));
  auto on_copies = [&](redis::CommandWriter& out, std::string_view command) {
    out.array(1 + keys.size()).bulk(command);
    for (const std::string& key : keys) out.bulk("sh" + key.substr(2));
  };
  on_copies(pipeline_.command([](const redis::Reply&) {}), "DEL");
  auto gone = std::make_shared<std::int64_t>(0);  // keys that are there now and not 1 us before retry_after
  for (const std::string& key : keys) {
    pipeline_.command([gone](const redis::Reply& reply) { *gone += reply.integer; })
        .array(3)
        .bulk("COPY")
        .bulk(key)
        .bulk("sh" + key.substr(2));
  }

  DrivenClock::write_set(pipeline_.command([](const redis::Reply&) {}), at - 1);
  on_copies(pipeline_.command([gone](const redis::Reply& reply) { *gone -= reply.integer; }), "EXISTS");
  const bool changed = numbers_changed_since_written(call);
  send_check("sh", call, at - 1, [this_tally = &tally_, where = origin(), gone, changed](const redis::Reply& reply) {
    const std::int64_t allowed = first_number(reply, where);
    if (!changed) *gone = 0;
    if (*gone > 0) {
      ++this_tally->early_exempt;
    } else if (allowed == 1) {
      throw std::runtime_error(where + "passed 1 us before retry_after, on copies");
    } else {
      ++this_tally->early_denied;
    }
  });
  DrivenClock::write_set(pipeline_.command([](const redis::Reply&) {}), at);
  send_check("sh", call, at, [this_tally = &tally_, where = origin(), gone](const redis::Reply& reply) {
    const std::int64_t allowed = first_number(reply, where);
    if (*gone > 0) return;  // the copies were charged before
    if (allowed != 1) throw std::runtime_error(where + "denied at retry_after, on copies");
    ++this_tally->passed_on_copies;
  });
  DrivenClock::write_set(pipeline_.command([](const redis::Reply&) {}), clock_.now);
}

void World::send_check(std::string_view prefix, const Call& call, std::int64_t periods_at,
                       Pipeline::Expectation expectation) {
  std::array<PeriodBounds, kMaxLimitsPerPlan> periods;
  limiter::quota_periods(*program_, periods_at, periods);
  Call named = call;
  for (std::string& key : named.keys) key.replace(0, 2, prefix);
  send(
      prefix, Script::check,
      [&](redis::CommandWriter& out, CallBy by) { limiter::write_check(out, named, periods, by); },
      std::move(expectation));
}

std::string World::origin() const { return fmt::format("world {} step {}: ", index_, step_); }

void World::log(const std::string& line) const {
  if (verbose_) std::fprintf(stderr, "%s%s\n", origin().c_str(), line.c_str());
}

void World::fail(const std::string& what) const { throw std::runtime_error(origin() + what); }

}  // namespace sluice::test
