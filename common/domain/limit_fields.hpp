// The fields of one limit that depend on its algorithm, and the shorthands for them.
//
// Thread safety: pure functions; all state is the caller's.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "common/domain/plan.hpp"
#include "common/domain/rate.hpp"
#include "common/json/fields.hpp"

namespace sluice {

// One field and the algorithms it goes with, as a set of bits 1 << Algorithm.
struct LimitField {
  std::string_view name;
  std::uint8_t algorithms = 0;
};

// Every field of a limit but `name`, `key_by`, `algorithm`, `strategy` and `unit`.
std::span<const LimitField> limit_fields();

inline bool goes_with(const LimitField& field, Algorithm algorithm) {
  return (field.algorithms >> static_cast<unsigned>(algorithm) & 1U) != 0;
}

// Reads algorithm, unit and numbers from `fields` into `limit`; faults are left in `fields`. Checks all ranges.
void read_limit_fields(json::Fields& fields, Limit& limit);

// The one of `names` that is given, "" for none; a second one is a fault.
std::string_view only_one_of(json::Fields& fields, std::initializer_list<std::string_view> names);

// The names of a rate for a bucket.
std::string_view given_rate(json::Fields& fields, Algorithm algorithm);

// The value of that field, as it was written.
std::optional<WrittenRate> read_rate(json::Fields& fields, std::string_view name);

}  // namespace sluice
