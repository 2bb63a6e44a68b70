// What happens to a history beside checks: overrides are written, counters reset, leases released and renewed.
#include <fmt/core.h>

#include <stdexcept>

#include "common/limiter/traits.hpp"
#include "tests/integration/equivalence/outcome_text.hpp"
#include "tests/integration/equivalence/world.hpp"

namespace sluice::test {

using limiter::CallBy;
using limiter::LeaseRef;
using limiter::OverrideEntry;
using limiter::Script;

void World::put_overrides() {
  ++step_, ++tally_.steps, ++tally_.overrides;
  const std::size_t rule = static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(program_->rules.size())));
  const limiter::Group& group = program_->groups[program_->rules[rule].group];
  const std::string key = group_key(program_->rules[rule].group, random_.percent(30));
  keys_.insert(key);
  std::vector<OverrideEntry> entries;
  const std::int64_t count = random_.percent(20) ? 0 : random_.between(1, 2);
  for (std::int64_t i = 0; i < count; ++i) {
    const Limit& limit = program_->limits[group.first + static_cast<std::size_t>(random_.below(group.count))];
    if (auto entry = random_override(random_, limit, plan_.max_delay, clock_.now)) entries.push_back(*entry);
  }
  write_overrides(key, entries);
}

// One of a few overrides, or none. So one that was there before often comes again.
void World::put_window_override() {
  ++step_, ++tally_.steps, ++tally_.overrides;
  const std::string key = group_key(0, random_.percent(30));
  keys_.insert(key);
  if (random_.percent(35)) return write_overrides(key, {});
  OverrideEntry entry = random_.pick(window_overrides_);
  const std::int64_t life =
      random_.scale(2 * scale_of(random_.percent(50) ? plan_.limits[0] : with(plan_.limits[0], entry)));
  if (random_.percent(80)) entry.expires_us = static_cast<double>(clock_.now + life);
  write_overrides(key, {entry});
}

void World::write_overrides(const std::string& key, const std::vector<OverrideEntry>& entries) {
  log("overrides of " + key);
  for (const OverrideEntry& entry : entries) log("  " + to_text(entry));
  overrides_[key] = entries;
  ++numbers_;
  memory_.put_overrides(key, entries);
  for (std::string_view prefix : {"sl", "cv"}) {
    if (prefix == "cv" && instrumented_ == nullptr) break;
    send(
        prefix, Script::overrides,
        [&](redis::CommandWriter& out, CallBy) {
          limiter::write_overrides(out, std::string(prefix) + key.substr(2), entries);
        },
        [where = origin()](const redis::Reply& reply) {
          if (reply.integer != 1) throw std::runtime_error(where + "overrides: " + std::string(reply.text));
        });
  }
}

// Whatever plan made them: all logs and lease sets beside the counter key.
void World::reset() {
  ++step_, ++tally_.steps, ++tally_.resets;
  const auto group = random_.below(static_cast<std::int64_t>(program_->groups.size()));
  const std::string key = group_key(static_cast<std::size_t>(group), random_.percent(30));
  std::vector<std::string> collections;
  for (const std::string& known : keys_) {
    for (const limiter::KindTraits& kind : limiter::all_kinds()) {
      if (kind.keeps_entries() && known.starts_with(key + std::string(kind.key_mark))) collections.push_back(known);
    }
  }
  log("reset of " + key);
  written_with_.erase(key);
  memory_.reset(key);
  for (const std::string prefix : {"sl", "cv"}) {
    if (prefix == "cv" && instrumented_ == nullptr) break;
    std::vector<std::string> named = collections;
    for (std::string& collection : named) collection.replace(0, 2, prefix);
    send(
        prefix, Script::reset,
        [&](redis::CommandWriter& out, CallBy) { limiter::write_reset(out, prefix + key.substr(2), named); },
        [where = origin()](const redis::Reply& reply) {
          if (reply.integer != 1) throw std::runtime_error(where + "reset: " + std::string(reply.text));
        });
  }
}

void World::change_lease() {
  ++step_, ++tally_.steps;
  const auto at = random_.below(static_cast<std::int64_t>(leases_.size()));
  std::vector<LeaseRef> refs = leases_[static_cast<std::size_t>(at)];
  const Script script = random_.percent(50) ? Script::release : Script::renew;
  (script == Script::release ? tally_.releases : tally_.renewals)++;
  const limiter::LeaseOutcome found = script == Script::release ? memory_.release(refs) : memory_.renew(refs);
  log(fmt::format("{} of {} leases: live {} until {}", script == Script::release ? "release" : "renewal", refs.size(),
                  found.live, found.expires_at_us));
  if (flavour_ == Flavour::single) {
    const bool release = script == Script::release;
    Reference& reference = reference_of(refs[0].counter_key, plan_);
    const std::int64_t expires = release ? 0 : reference.renew(refs[0].member, clock_.now);
    const bool live = release ? reference.release(refs[0].member, clock_.now) : expires > 0;
    if (live != found.live || expires != found.expires_at_us) {
      fail(fmt::format("reference: live {} until {}, both: live {} until {}\n", live, expires, found.live,
                       found.expires_at_us));
    }
  }
  for (std::string_view prefix : {"sl", "cv"}) {
    if (prefix == "cv" && instrumented_ == nullptr) break;
    std::vector<LeaseRef> named = refs;
    for (LeaseRef& ref : named) ref.counter_key.replace(0, 2, prefix);
    send(
        prefix, script, [&](redis::CommandWriter& out, CallBy by) { limiter::write_leases(out, script, named, by); },
        [where = origin(), script, found](const redis::Reply& reply) {
          const auto read = limiter::read_leases(reply, script);
          if (!read) throw std::runtime_error(where + "leases: " + std::string(reply.text));
          if (read->live == found.live && read->expires_at_us == found.expires_at_us) return;
          throw std::runtime_error(where + fmt::format("lease: memory live {} until {}, server live {} until {}",
                                                       found.live, found.expires_at_us, read->live,
                                                       read->expires_at_us));
        });
  }
  if (script == Script::release && random_.percent(60)) leases_.erase(leases_.begin() + at);
}

}  // namespace sluice::test
