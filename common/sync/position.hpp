// Where in a history somebody is: a revision, and the chain that names the history it belongs to.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/json/fields.hpp"

namespace sluice::sync {

// 64 hex digits in lower case: chains are compared as texts, so each has one spelling.
inline constexpr std::size_t kChainDigits = 64;
bool is_chain(std::string_view text);

struct Position {
  std::int64_t revision = 0;  // ≥ 0
  std::string chain;

  bool operator==(const Position&) const = default;
};

// A position in a query is two parameters, which belong together.
struct PositionParameters {
  std::string_view revision;
  std::string_view chain;
};
inline constexpr PositionParameters kSince{"since", "chain"};  // what the agent has in force
inline constexpr PositionParameters kHeard{"heard",
                                           "heard_chain"};  // what its watch told it of, and no fetch covers yet

// The field of an answer that says that what was heard is not of PostgreSQL's history, in lower case, and its value.
inline constexpr std::string_view kHeardField = "sluice-heard";
inline constexpr std::string_view kForeign = "foreign";

// The texts of two such parameters, as they stand in the query (no unescaping: neither needs any).
// Errors (code `position`): no whole number from 0 to 2^63 − 1, no chain.
Result<Position> parse_position(std::string_view revision, std::string_view chain,
                                const PositionParameters& names = kSince);

// "since=7&chain=…"
std::string query_of(const Position& position, const PositionParameters& names = kSince);

// Reads the members `revision` and `chain` of an object, both required.
Position read_position(json::Fields& fields);

// Reads a member of 64 hex digits in lower case, required; "" where it is faulty.
std::string read_hex_digest(json::Fields& fields, std::string_view name, std::string_view what);

}  // namespace sluice::sync
