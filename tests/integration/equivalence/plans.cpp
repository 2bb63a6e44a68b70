#include "tests/integration/equivalence/plans.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/domain/algorithm.hpp"
#include "common/domain/limit_numbers.hpp"
#include "common/domain/rate.hpp"

namespace sluice::test {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kDay = 86'400 * kSecond;
constexpr std::int64_t kYear = 366 * kDay;

bool is_bucket(const Limit& limit) { return sluice::is_bucket(limit.algorithm); }

Micros random_window(Random& random) {
  switch (random.below(6)) {
    case 0:
      return Micros(random.pick<std::int64_t>({1'000, 2'000, 7'000, 250'000, kSecond}));
    case 1:
      return Micros(1'000 + random.scale(kYear - 1'000));  // no round number
    case 2:
      return Micros(random.pick<std::int64_t>({3'600 * kSecond, kDay, 30 * kDay, kYear}));
    default:
      return Micros(random.pick<std::int64_t>({kSecond, 10 * kSecond, 30 * kSecond, 60 * kSecond}));
  }
}

std::int64_t random_count(Random& random) {
  if (random.percent(1)) return 0;
  switch (random.below(5)) {
    case 0:
      return random.between(1, 3);
    case 1:
      return random.scale(kMaxLimit);
    default:
      return random.between(1, 60);
  }
}

// Rates people write, and rates whose capacity · per_us is close to 2^50.
void random_bucket(Random& random, Limit& limit) {
  const std::int64_t unit = random.pick<std::int64_t>({1'000, kSecond, kSecond, 60 * kSecond, 3'600 * kSecond});
  limit.limit = random_count(random);
  switch (random.below(5)) {
    case 0:
      limit.rate = lowest_terms(random.scale(kMaxLimit), Micros(random.scale(kMaxLimit)));
      limit.limit = std::min(limit.limit, kMaxLimit / limit.rate.per_us);
      break;
    case 1: {
      limit.limit = random.percent(50) ? random.between(1, 4) : random.scale(std::int64_t{1} << 33);
      const std::int64_t per =
          kMaxLimit / limit.limit - random.below(std::min<std::int64_t>(3, kMaxLimit / limit.limit));
      limit.rate = lowest_terms(random.scale(1'000'000), Micros(std::max<std::int64_t>(1, per)));
      break;
    }
    default:
      limit.rate = lowest_terms(random.between(1, 100), Micros(unit * random.pick({1, 1, 1, 3, 7, 20})));
      break;
  }
}

void random_sliding(Random& random, Limit& limit) {
  limit.limit = random_count(random);
  if (!random.percent(25)) return;
  // limit · window close to 2^53 in each of the three ticks.
  const std::int64_t tick = random.pick<std::int64_t>({1, 1'000, kSecond});
  limit.window = Micros(std::max<std::int64_t>(1'000, tick) * random.scale(3'000'000));
  limit.window = std::min(limit.window, Micros(kYear));
  const std::int64_t ticks = std::max<std::int64_t>(1, limit.window.count() / tick);
  limit.limit = std::min(kMaxLimit, (std::int64_t{1} << 53) / ticks - random.below(2));
}

void random_numbers(Random& random, Limit& limit) {
  switch (limit.algorithm) {
    case Algorithm::token_bucket:
    case Algorithm::leaky_bucket:
      return random_bucket(random, limit);
    case Algorithm::sliding_window:
      return random_sliding(random, limit);
    case Algorithm::sliding_window_log:
    case Algorithm::concurrency:
      limit.limit = random.percent(1) ? 0 : random.percent(20) ? random.scale(kMaxLogLimit) : random.between(1, 20);
      return;
    case Algorithm::fixed_window:
    case Algorithm::quota:
      limit.limit = random_count(random);
  }
}

// Everything that the algorithm needs, within the documented ranges.
void fill(Random& random, Limit& limit, std::optional<Micros> max_delay) {
  do {
    limit.window = random_window(random);
    limit.align = random.pick({Align::epoch, Align::first});
    limit.lease_ttl = Micros(random.percent(50) ? random.pick<std::int64_t>({1'000, kSecond, 30 * kSecond, 30 * kDay})
                                                : 1'000 + random.scale(30 * kDay - 1'000));
    limit.period = random.pick({Period::hour, Period::day, Period::week, Period::month, Period::year});
    limit.anchor.reset();
    if (random.percent(50))
      limit.anchor = WallTime(Micros(random.below(4'000'000'000) * kSecond + random.below(kSecond)));
    random_numbers(random, limit);
  } while (!acceptable(limit, max_delay));
}

void random_limit(Random& random, Limit& limit, std::optional<Micros> max_delay) {
  limit.algorithm =
      static_cast<Algorithm>(random.below(static_cast<std::int64_t>(algorithms_without_shorthands().size())));
  limit.unit = kUnits[static_cast<std::size_t>(random.percent(60) ? 0 : random.below(3))];
  limit.key_by.clear();
  if (random.percent(20)) limit.key_by.push_back({Dimension::method, ""});
  fill(random, limit, max_delay);
}

std::string unused_name(Random& random, const std::vector<Limit>& limits) {
  for (;;) {
    std::string name(1, static_cast<char>('a' + random.below(12)));
    if (std::ranges::none_of(limits, [&](const Limit& limit) { return limit.name == name; })) return name;
  }
}

void add_limit(Random& random, RandomPlan& plan) {
  Limit limit;
  limit.name = unused_name(random, plan.limits);
  random_limit(random, limit, plan.max_delay);
  plan.limits.insert(plan.limits.begin() + random.below(static_cast<std::int64_t>(plan.limits.size()) + 1), limit);
}

void toggle_delay(Random& random, RandomPlan& plan) {
  if (plan.max_delay) {
    plan.max_delay.reset();
    return;
  }
  for (int attempt = 0; attempt < 20; ++attempt) {
    Micros delay(random.scale(random.percent(70) ? 100 * kSecond : kYear));
    const Limit& limit = plan.limits[0];
    if (is_bucket(limit) && random.percent(30)) {  // as much debt as is accepted
      std::int64_t low = 1, high = kYear;
      while (low < high) {
        const std::int64_t middle = (low + high + 1) / 2;
        if (debt_fault(limit, Micros(middle)))
          high = middle - 1;
        else
          low = middle;
      }
      delay = Micros(low);
    }
    if (std::ranges::all_of(plan.limits, [&](const Limit& limit) { return acceptable(limit, delay); })) {
      plan.max_delay = delay;
      return;
    }
  }
}

RandomPlan crowded_plan(Random& random) {
  RandomPlan plan;
  for (std::int64_t i = random.between(1, 2); i > 0; --i) {
    Limit limit;
    limit.name = unused_name(random, plan.limits);
    limit.algorithm = random.pick({Algorithm::sliding_window_log, Algorithm::concurrency});
    fill(random, limit, {});
    limit.limit = random.between(150, 400);
    plan.limits.push_back(limit);
  }
  return plan;
}

RandomPlan windowed_plan(Random& random) {
  RandomPlan plan;
  Limit& limit = plan.limits.emplace_back();
  limit.name = "a";
  limit.algorithm = random.pick({Algorithm::fixed_window, Algorithm::sliding_window, Algorithm::sliding_window_log});
  fill(random, limit, {});
  return plan;
}

}  // namespace

bool acceptable(const Limit& limit, std::optional<Micros> max_delay) {
  return !number_fault(limit) && (!max_delay || !debt_fault(limit, *max_delay));
}

Limit with(Limit limit, const limiter::OverrideEntry& entry) {
  if (entry.limit >= 0) limit.limit = static_cast<std::int64_t>(entry.limit);
  if (entry.p < 0) return limit;
  const Micros p(static_cast<std::int64_t>(entry.p));
  if (is_bucket(limit))
    limit.rate = {p.count(), static_cast<std::int64_t>(entry.q)};
  else if (limit.algorithm == Algorithm::concurrency)
    limit.lease_ttl = p;
  else
    limit.window = p;
  return limit;
}

RandomPlan random_plan(Random& random, Flavour flavour) {
  if (flavour == Flavour::crowded) return crowded_plan(random);
  if (flavour == Flavour::windowed) return windowed_plan(random);
  RandomPlan plan;
  const std::int64_t count = flavour == Flavour::single ? 1
                             : random.percent(40)       ? random.between(1, 2)
                                                        : random.between(1, 8);
  while (static_cast<std::int64_t>(plan.limits.size()) < count) add_limit(random, plan);
  if (random.percent(30)) toggle_delay(random, plan);
  return plan;
}

void edit(Random& random, RandomPlan& plan) {
  Limit& limit = plan.limits[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(plan.limits.size())))];
  switch (random.below(9)) {
    case 0:
      if (plan.limits.size() < 8) add_limit(random, plan);
      return;
    case 1:
      if (plan.limits.size() > 1) plan.limits.erase(plan.limits.begin() + (&limit - plan.limits.data()));
      return;
    case 2:
      std::ranges::rotate(plan.limits, plan.limits.begin() + (&limit - plan.limits.data()));
      return;
    case 3:
      random_limit(random, limit, plan.max_delay);
      return;
    case 4:
      toggle_delay(random, plan);
      return;
    case 5:
      fill(random, limit, plan.max_delay);
      return;
    default:
      break;
  }
  // Numbers only: the counter stays.
  Limit changed = limit;
  do {
    changed = limit;
    random_numbers(random, changed);
    if (is_bucket(changed) && random.percent(40)) changed.rate = limit.rate;
    if (random.percent(30)) changed.limit = std::max<std::int64_t>(0, limit.limit + random.between(-3, 3));
    changed.window = limit.window;
    if (changed.algorithm == Algorithm::concurrency && random.percent(50))
      changed.lease_ttl = Micros(1'000 + random.scale(kDay));
  } while (!acceptable(changed, plan.max_delay));
  limit = changed;
}

std::optional<limiter::OverrideEntry> random_override(Random& random, Limit limit, std::optional<Micros> max_delay,
                                                      std::int64_t now_us) {
  limiter::OverrideEntry entry;
  const Limit base = limit;
  for (int attempt = 0; attempt < 20; ++attempt) {
    limit = base;
    fill(random, limit, max_delay);
    const bool number = random.percent(70);
    const bool rest = !number || random.percent(50);
    if (!number) limit.limit = base.limit;
    if (!rest) limit.rate = base.rate, limit.window = base.window, limit.lease_ttl = base.lease_ttl;
    limit.align = base.align, limit.period = base.period, limit.anchor = base.anchor;
    if (!acceptable(limit, max_delay) || limit == base) continue;
    entry.name_id = limiter::name_id(limit);
    if (limit.limit != base.limit) entry.limit = static_cast<double>(limit.limit);
    if (is_bucket(limit) && !(limit.rate == base.rate)) {
      entry.p = static_cast<double>(limit.rate.units);
      entry.q = static_cast<double>(limit.rate.per_us);
    }
    if (limit.algorithm == Algorithm::concurrency && limit.lease_ttl != base.lease_ttl) {
      entry.p = static_cast<double>(limit.lease_ttl.count());
    }
    const bool windowed = !is_bucket(limit) && takes(traits_of(limit.algorithm), "window");
    if (windowed && limit.window != base.window) {
      entry.p = static_cast<double>(limit.window.count());
      entry.counter_id = limiter::counter_id(limit);
    }
    if (entry.limit < 0 && entry.p < 0) continue;
    const std::int64_t life = random.percent(50) ? random.scale(2 * scale_of(limit)) : random.scale(kYear);
    entry.expires_us = random.percent(20)  ? std::numeric_limits<double>::infinity()
                       : random.percent(5) ? static_cast<double>(now_us - random.scale(kDay))
                                           : static_cast<double>(now_us + life);
    return entry;
  }
  return std::nullopt;
}

std::vector<limiter::OverrideEntry> random_window_overrides(Random& random, const Limit& limit, std::size_t count) {
  std::vector<limiter::OverrideEntry> found;
  while (found.size() < count) {
    auto entry = random_override(random, limit, {}, 0);
    if (!entry || entry->counter_id == 0) continue;
    if (std::ranges::find(found, entry->p, &limiter::OverrideEntry::p) != found.end()) continue;
    entry->expires_us = std::numeric_limits<double>::infinity();
    found.push_back(*entry);
  }
  return found;
}

std::int64_t scale_of(const Limit& limit) {
  switch (limit.algorithm) {
    case Algorithm::token_bucket:
    case Algorithm::leaky_bucket: {
      const double us = static_cast<double>(std::max<std::int64_t>(1, limit.limit)) *
                        static_cast<double>(limit.rate.per_us) / static_cast<double>(limit.rate.units);
      return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(us, static_cast<double>(kYear))));
    }
    case Algorithm::concurrency:
      return limit.lease_ttl.count();
    case Algorithm::quota:
      return limit.period == Period::hour ? 3'600 * kSecond : 31 * kDay;
    default:
      return limit.window.count();
  }
}

}  // namespace sluice::test
