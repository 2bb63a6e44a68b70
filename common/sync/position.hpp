// Where in a history somebody is: a revision, and the chain that names the history it belongs to.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/domain/json_fields.hpp"

namespace sluice::sync {

// 64 hex digits in lower case: chains are compared as texts, so each has one spelling.
inline constexpr std::size_t kChainDigits = 64;
bool is_chain(std::string_view text);

struct Position {
  std::int64_t revision = 0;  // ≥ 0
  std::string chain;

  bool operator==(const Position&) const = default;
};

// The parameters `since` and `chain` of a request, as they stand in its query (no unescaping: neither needs any).
// Errors (code `position`): `since` is no whole number from 0 to 2^63 − 1, `chain` is no chain.
Result<Position> parse_position(std::string_view since, std::string_view chain);

// "since=7&chain=…", what parse_position's two texts are taken from.
std::string query_of(const Position& position);

// Reads the members `revision` and `chain` of an object, both required.
Position read_position(Fields& fields);

// Reads a member of 64 hex digits in lower case, required; "" where it is faulty.
std::string read_hex_digest(Fields& fields, std::string_view name, std::string_view what);

}  // namespace sluice::sync
