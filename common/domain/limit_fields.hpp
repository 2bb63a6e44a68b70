// The fields of one limit that depend on its algorithm, and the shorthands for them.
//
// Thread safety: pure functions; all state is the caller's.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "common/domain/plan.hpp"
#include "common/domain/rate.hpp"
#include "common/json/fields.hpp"

namespace sluice {

// Every field of a limit but `name`, `key_by`, `algorithm`, `strategy` and `unit`. Which algorithm takes which:
// algorithm.hpp.
std::span<const std::string_view> limit_fields();

// Reads algorithm, unit and numbers from `fields` into `limit`; faults are left in `fields`. Checks all ranges.
void read_limit_fields(json::Fields& fields, Limit& limit);

// The one of `names` that is given, "" for none; a second one is a fault.
std::string_view only_one_of(json::Fields& fields, std::initializer_list<std::string_view> names);

// The names of a rate for a bucket.
std::string_view given_rate(json::Fields& fields, Algorithm algorithm);

// The value of that field, as it was written.
std::optional<WrittenRate> read_rate(json::Fields& fields, std::string_view name);

}  // namespace sluice
