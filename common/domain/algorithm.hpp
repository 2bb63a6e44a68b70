// A table of the names and fields of algorithms. common/limiter/traits.hpp has the table of how they are computed.
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

// Unused places at the end are "".
template <std::size_t kMax>
using NameList = std::array<std::string_view, kMax>;

struct AlgorithmTraits {
  Algorithm algorithm = Algorithm::token_bucket;
  std::string_view name{};
  // A shorthand is another form in which limits of `algorithm` can be written, such as gcra for token_bucket. They are
  // stored in the form of the main row of `algorithm`. That row has the members that a shorthand leaves empty.
  bool shorthand = false;
  NameList<3> aliases{};

  // Not listed: `algorithm`, `name`, `unit` and `key_by`, which all limits have.
  NameList<8> fields{};
  // If a limit has no field `algorithm`, any one of these fields selects this row. If no row is selected, the limit is
  // a token_bucket, provided that it has a field of token_bucket other than `limit`.
  NameList<3> implied_by{};
  // The canonical names of the numbers that an override can replace, for error texts.
  std::string_view replaceable{};
  NameList<3> irreplaceable{};

  std::string_view capacity = "limit";  // the name of Limit::limit in the canonical form
  std::int64_t max_limit = kMaxLimit;
  std::string_view rate{};          // the name of Limit::rate in the canonical form; "": no rate
  std::string_view missing_rate{};  // the error text for a missing rate

  void (*read)(LimitReader& reader) = nullptr;
  // Checks that the numbers fit together. nullptr: any numbers do.
  std::optional<NumberFault> (*number_fault)(const Limit& limit) = nullptr;
  std::int64_t (*window_us)(const Limit& limit, std::int64_t effective_limit, std::int64_t now_us) = nullptr;
};

// All rows: first the algorithms in the order of the enum, then the shorthands.
std::span<const AlgorithmTraits> algorithm_rows();
std::span<const AlgorithmTraits> algorithms_without_shorthands();
const AlgorithmTraits& traits_of(Algorithm algorithm);

// The row with this name or alias; '-' is read as '_'.
std::optional<const AlgorithmTraits*> algorithm_named(std::string_view text);

// "token_bucket, leaky_bucket, …", for error texts.
const std::string& algorithm_list();

bool takes(const AlgorithmTraits& traits, std::string_view field);
// Whether an override can replace this field.
bool is_replaceable(const AlgorithmTraits& traits, std::string_view field);

inline bool is_bucket(Algorithm algorithm) { return !traits_of(algorithm).rate.empty(); }

// The time in µs in which `effective_limit` units are allowed; 0 for concurrency. `effective_limit` is Limit::limit, or
// the number that an override sets instead.
inline std::int64_t window_us(const Limit& limit, std::int64_t effective_limit, std::int64_t now_us) {
  const auto window = traits_of(limit.algorithm).window_us;
  return window == nullptr ? 0 : window(limit, effective_limit, now_us);
}

}  // namespace sluice
