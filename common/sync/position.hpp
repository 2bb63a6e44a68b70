// A position: a revision, and the chain that names its history.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/json/fields.hpp"

namespace sluice::sync {

// A chain is hex digits in lower case. Chains are compared as texts, so upper case is refused.
inline constexpr std::size_t kChainDigits = 64;
bool is_chain(std::string_view text);

struct Position {
  std::int64_t revision = 0;  // ≥ 0
  std::string chain;

  bool operator==(const Position&) const = default;
};

// The names of two query parameters.
struct PositionParameters {
  std::string_view revision;
  std::string_view chain;
};
inline constexpr PositionParameters kSince{"since", "chain"};  // the position of the agent's snapshot in force
// The position that the agent's watch announced and that the agent has not fetched yet.
inline constexpr PositionParameters kAnnounced{"heard", "heard_chain"};

// A fetch with a foreign position in kAnnounced is answered with the header kAnnouncedField: kForeignPosition.
inline constexpr std::string_view kAnnouncedField = "sluice-heard";
inline constexpr std::string_view kForeignPosition = "foreign";

// Reads a position from two query parameters.
// Error `position`: the revision is not a whole number from 0 to 2^63 − 1, or the chain is malformed.
Result<Position> parse_position(std::string_view revision, std::string_view chain,
                                const PositionParameters& names = kSince);

// For example "since=7&chain=…".
std::string query_of(const Position& position, const PositionParameters& names = kSince);

// Reads the required members `revision` and `chain` of a JSON object.
Position read_position(json::Fields& fields);

// Reads a required member of 64 hex digits in lower case. If the member is missing or malformed, records a
// fault and returns "". `what` describes the member to users.
std::string read_hex_digest(json::Fields& fields, std::string_view name, std::string_view what);

}  // namespace sluice::sync
