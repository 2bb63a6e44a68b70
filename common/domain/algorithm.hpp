// What the algorithms are to people and documents: one table with a row for each name that a limit's algorithm has.
// What they compute is in common/limiter/traits.hpp.
//
// Thread safety: pure functions over constant tables.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/domain/plan.hpp"

namespace sluice {

class LimitReader;
struct NumberFault;

// A list of names in a constant table; the empty ones at its end do not count.
template <std::size_t kMost>
using NameList = std::array<std::string_view, kMost>;

struct AlgorithmTraits {
  Algorithm algorithm = Algorithm::token_bucket;
  std::string_view name{};
  // The name is a shorthand that documents accept; the limit is stored as `algorithm`, whose own row says the rest.
  bool shorthand = false;
  NameList<3> aliases{};

  // The fields it takes beside name, unit and key_by.
  NameList<8> fields{};
  // Any of these fields alone makes a limit without `algorithm` this one. Those of no row make a token_bucket.
  NameList<3> implied_by{};
  // What an override can replace, in canonical names, and those of `fields` that it cannot.
  std::string_view numbers{};
  NameList<3> fixed{};

  std::string_view capacity = "limit";  // what the canonical form calls Limit::limit
  std::string_view rate{};              // what it calls Limit::rate; "" where the limit has no rate
  std::string_view missing_rate{};      // what a fault says of a rate that is missing

  // Reads the numbers of a limit whose algorithm is known.
  void (*read)(LimitReader& reader) = nullptr;
  // Do the numbers fit together? None: always.
  std::optional<NumberFault> (*fault)(const Limit& limit) = nullptr;
  // The time that `limit` units are meant for, in µs; 0 where there is none.
  std::int64_t (*window_us)(const Limit& limit, std::int64_t effective_limit, std::int64_t now_us) = nullptr;
};

// All rows: first those of the algorithms in the order of the enum, then the shorthands.
std::span<const AlgorithmTraits> algorithm_names();
// Those of the algorithms.
std::span<const AlgorithmTraits> all_algorithms();
const AlgorithmTraits& traits_of(Algorithm algorithm);

// The row of that name or alias; '-' stands for '_'.
std::optional<const AlgorithmTraits*> algorithm_named(std::string_view text);

// "token_bucket, leaky_bucket, …": the names of all rows, for the text of a fault.
const std::string& algorithm_list();

bool takes(const AlgorithmTraits& traits, std::string_view field);

// Token bucket and leaky bucket: those with a rate.
inline bool is_bucket(Algorithm algorithm) { return !traits_of(algorithm).rate.empty(); }

// The time in which `effective_limit` units are allowed: a bucket's to flow whole, a window, a quota's period; 0 for
// concurrency. `effective_limit`: the limit's number with what an override replaced.
inline std::int64_t window_us(const Limit& limit, std::int64_t effective_limit, std::int64_t now_us) {
  const auto window = traits_of(limit.algorithm).window_us;
  return window == nullptr ? 0 : window(limit, effective_limit, now_us);
}

}  // namespace sluice
