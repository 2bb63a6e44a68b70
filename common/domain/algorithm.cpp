#include "common/domain/algorithm.hpp"

#include <algorithm>
#include <cmath>

#include "common/domain/limit_numbers.hpp"
#include "common/domain/limit_reader.hpp"
#include "common/domain/quota_period.hpp"

namespace sluice {
namespace {

// The time in which a bucket refills (or drains) `effective_limit` units, rounded up.
std::int64_t bucket_window_us(const Limit& limit, std::int64_t effective_limit, std::int64_t /*now_us*/) {
  return static_cast<std::int64_t>(
      std::ceil(static_cast<double>(effective_limit) * static_cast<double>(limit.rate.per_us) /
                static_cast<double>(limit.rate.units)));
}

std::int64_t own_window_us(const Limit& limit, std::int64_t /*effective_limit*/, std::int64_t /*now_us*/) {
  return limit.window.count();
}

std::int64_t period_us(const Limit& limit, std::int64_t /*effective_limit*/, std::int64_t now_us) {
  const PeriodBounds period = period_at(limit.period, limit.anchor, now_us);
  return period.to_us - period.from_us;
}

// A bucket accepts `limit` and `window` only together, and then neither a capacity nor a rate.
constexpr std::array kRows{
    AlgorithmTraits{
        .algorithm = Algorithm::token_bucket,
        .name = "token_bucket",
        .aliases = {"token", "bucket"},
        .fields = {"capacity", "bucket_capacity", "refill", "refill_per_sec", "refill_rate_per_sec", "rate", "limit",
                   "window"},
        .replaceable = "capacity, refill",
        .irreplaceable = {"limit", "window"},
        .capacity = "capacity",
        .rate = "refill",
        .missing_rate = "how fast the bucket fills again, such as \"20/s\", or refill_per_sec with a number",
        .read = &read_bucket,
        .number_fault = &bucket_fault,
        .window_us = &bucket_window_us},
    AlgorithmTraits{.algorithm = Algorithm::leaky_bucket,
                    .name = "leaky_bucket",
                    .aliases = {"leaky"},
                    .fields = {"capacity", "bucket_capacity", "leak", "leak_per_sec", "leak_rate_per_sec", "rate",
                               "limit", "window"},
                    .implied_by = {"leak", "leak_per_sec", "leak_rate_per_sec"},
                    .replaceable = "capacity, leak",
                    .irreplaceable = {"limit", "window"},
                    .capacity = "capacity",
                    .rate = "leak",
                    .missing_rate = "how fast the bucket runs empty, such as \"20/s\", or leak_per_sec with a number",
                    .read = &read_bucket,
                    .number_fault = &bucket_fault,
                    .window_us = &bucket_window_us},
    AlgorithmTraits{.algorithm = Algorithm::fixed_window,
                    .name = "fixed_window",
                    .aliases = {"fixed", "fixed_window_counter"},
                    .fields = {"rate", "limit", "window", "align"},
                    .replaceable = "limit, window",
                    .irreplaceable = {"rate", "align"},
                    .read = &read_fixed_window,
                    .window_us = &own_window_us},
    AlgorithmTraits{.algorithm = Algorithm::sliding_window,
                    .name = "sliding_window",
                    .aliases = {"sliding", "sliding_counter", "sliding_window_counter"},
                    .fields = {"rate", "limit", "window"},
                    .replaceable = "limit, window",
                    .irreplaceable = {"rate"},
                    .read = &read_window,
                    .number_fault = &sliding_fault,
                    .window_us = &own_window_us},
    AlgorithmTraits{.algorithm = Algorithm::sliding_window_log,
                    .name = "sliding_window_log",
                    .aliases = {"log", "sliding_log", "window_log"},
                    .fields = {"rate", "limit", "window"},
                    .replaceable = "limit, window",
                    .irreplaceable = {"rate"},
                    .max_limit = kMaxLogLimit,
                    .read = &read_window,
                    .number_fault = &log_fault,
                    .window_us = &own_window_us},
    AlgorithmTraits{.algorithm = Algorithm::concurrency,
                    .name = "concurrency",
                    .aliases = {"concurrent"},
                    .fields = {"limit", "lease_ttl"},
                    .implied_by = {"lease_ttl"},
                    .replaceable = "limit, lease_ttl",
                    .max_limit = kMaxLogLimit,
                    .read = &read_leases,
                    .number_fault = &lease_fault},
    AlgorithmTraits{.algorithm = Algorithm::quota,
                    .name = "quota",
                    .fields = {"limit", "period", "anchor"},
                    .implied_by = {"period", "anchor"},
                    .replaceable = "limit",
                    .irreplaceable = {"period", "anchor"},
                    .read = &read_quota,
                    .window_us = &period_us},
    // GCRA, the generic cell rate algorithm of ATM networks, admits the same requests as a token bucket.
    AlgorithmTraits{.algorithm = Algorithm::token_bucket,
                    .name = "gcra",
                    .shorthand = true,
                    .fields = {"rate", "burst"},
                    .read = &read_gcra},
};

constexpr auto kAlgorithms = static_cast<std::size_t>(std::ranges::count(kRows, false, &AlgorithmTraits::shorthand));

consteval bool in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].shorthand ? i < kAlgorithms : static_cast<std::size_t>(kRows[i].algorithm) != i) return false;
  }
  return true;
}
static_assert(in_order(), "a row's place is its enumerator's number; shorthands come last");

}  // namespace

std::span<const AlgorithmTraits> algorithm_rows() { return kRows; }

std::span<const AlgorithmTraits> algorithms_without_shorthands() { return std::span(kRows).first(kAlgorithms); }

const AlgorithmTraits& traits_of(Algorithm algorithm) { return kRows[static_cast<std::size_t>(algorithm)]; }

std::optional<const AlgorithmTraits*> algorithm_named(std::string_view text) {
  std::string name(text);
  std::ranges::replace(name, '-', '_');
  for (const AlgorithmTraits& row : kRows) {
    if (row.name == name || (!name.empty() && std::ranges::find(row.aliases, name) != row.aliases.end())) return &row;
  }
  return std::nullopt;
}

const std::string& algorithm_list() {
  static const std::string list = [] {
    std::string names;
    for (const AlgorithmTraits& row : kRows) names.append(names.empty() ? "" : ", ").append(row.name);
    return names;
  }();
  return list;
}

bool takes(const AlgorithmTraits& traits, std::string_view field) {
  return std::ranges::find(traits.fields, field) != traits.fields.end();
}

bool is_replaceable(const AlgorithmTraits& traits, std::string_view field) {
  return takes(traits, field) && std::ranges::find(traits.irreplaceable, field) == traits.irreplaceable.end();
}

std::string_view to_string(Algorithm algorithm) { return traits_of(algorithm).name; }

}  // namespace sluice
