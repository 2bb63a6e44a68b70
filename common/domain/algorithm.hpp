// How documents name the algorithms, and which fields each algorithm has: a table with one row for each canonical or
// shorthand name. common/limiter/traits.hpp has the table of how algorithms are computed.
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

// A list of up to `kMax` names in a constant table. Unused places at the end are "".
template <std::size_t kMax>
using NameList = std::array<std::string_view, kMax>;

// One row of the table.
struct AlgorithmTraits {
  Algorithm algorithm = Algorithm::token_bucket;
  std::string_view name{};
  // True: documents may use this name, but the limit is stored as `algorithm`, whose own row has the members that are
  // empty here.
  bool shorthand = false;
  NameList<3> aliases{};

  // The fields that a limit of this algorithm accepts, besides `algorithm`, `name`, `unit` and `key_by`.
  NameList<8> fields{};
  // If a limit has no field `algorithm`, any one of these fields selects this row. If they select no row, the limit is
  // a token_bucket, provided that it has a field of token_bucket other than `limit`.
  NameList<3> implied_by{};
  // The canonical names of the numbers that an override can replace, as error texts list them.
  std::string_view replaceable{};
  // The entries of `fields` that an override cannot replace.
  NameList<3> irreplaceable{};

  std::string_view capacity = "limit";  // the name of Limit::limit in the canonical form
  std::int64_t max_limit = kMaxLimit;   // the highest Limit::limit
  std::string_view rate{};              // the name of Limit::rate in the canonical form; "": no rate
  std::string_view missing_rate{};      // the error text for a missing rate: what the caller should write

  // Reads the numbers of a limit once its algorithm is known.
  void (*read)(LimitReader& reader) = nullptr;
  // Checks that the numbers fit together. nullptr: any numbers do.
  std::optional<NumberFault> (*number_fault)(const Limit& limit) = nullptr;
  // Computes the result of window_us() below. nullptr: the result is 0.
  std::int64_t (*window_us)(const Limit& limit, std::int64_t effective_limit, std::int64_t now_us) = nullptr;
};

// All rows: first the algorithms in the order of the enum, then the shorthands.
std::span<const AlgorithmTraits> algorithm_rows();
// The rows without the shorthands.
std::span<const AlgorithmTraits> algorithms_without_shorthands();
// The row with the algorithm's canonical name.
const AlgorithmTraits& traits_of(Algorithm algorithm);

// The row with this name or alias; '-' is read as '_'.
std::optional<const AlgorithmTraits*> algorithm_named(std::string_view text);

// "token_bucket, leaky_bucket, …": the names of all rows, for error texts.
const std::string& algorithm_list();

// Whether `traits.fields` contains the field.
bool takes(const AlgorithmTraits& traits, std::string_view field);
// Whether an override can replace this field.
bool is_replaceable(const AlgorithmTraits& traits, std::string_view field);

// True for token_bucket and leaky_bucket, the two algorithms with a rate.
inline bool is_bucket(Algorithm algorithm) { return !traits_of(algorithm).rate.empty(); }

// The time in µs in which `effective_limit` units are allowed: the time a bucket takes to refill or drain, the window,
// or the current period of a quota; 0 for concurrency. `effective_limit` is Limit::limit, or the number that an
// override sets instead.
inline std::int64_t window_us(const Limit& limit, std::int64_t effective_limit, std::int64_t now_us) {
  const auto window = traits_of(limit.algorithm).window_us;
  return window == nullptr ? 0 : window(limit, effective_limit, now_us);
}

}  // namespace sluice
