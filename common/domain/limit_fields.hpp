// The fields of a limit, and the functions that read them.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "common/domain/enum_text.hpp"
#include "common/domain/field_rows.hpp"
#include "common/domain/identifiers.hpp"
#include "common/domain/limit_numbers.hpp"
#include "common/domain/plan.hpp"
#include "common/domain/rate.hpp"
#include "common/json/fields.hpp"

namespace sluice {

// algorithm.hpp says which of these fields each algorithm has.
namespace limit_field {

using json::Field;

consteval Field amount(std::string_view name, std::string_view help, bool body_only) {
  return {.name = name, .type = Field::Type::integer, .max = kMaxLimit, .body_only = body_only, .help = help};
}
consteval Field rate(std::string_view name, std::string_view help, bool body_only) {
  return {.name = name, .schema = "Rate", .body_only = body_only, .help = help};
}
consteval Field per_second(std::string_view name, std::string_view help) {
  return {.name = name, .schema = "RatePerSecond", .body_only = true, .help = help};
}

inline constexpr Field kName{.name = "name",
                             .type = Field::Type::text,
                             .max = kMaxIdBytes,
                             .schema = "LimitName",
                             .always = true,
                             .help = "Unique in its list. Default: the name of its algorithm."};
inline constexpr Field kAlgorithm{.name = "algorithm", .schema = "AlgorithmName"};
inline constexpr Field kStrategy{.name = "strategy",
                                 .schema = "AlgorithmName",
                                 .body_only = true,
                                 .help = "Another name of algorithm: one of the two is enough."};
inline constexpr Field kUnit{.name = "unit",
                             .type = Field::Type::text,
                             .max = kMaxIdBytes,
                             .schema = "LimitName",
                             .fallback = "requests",
                             .help = "What is counted."};
inline constexpr Field kKeyBy{.name = "key_by",
                              .schema = "Dimensions",
                              .body_schema = "KeyBy",
                              .help = "Dimensions added to those of the plan or policy."};

inline constexpr Field kCapacity =
    amount("capacity",
           "How many units the full bucket holds, and so how many may be charged at once. 0 denies everything.", false);
inline constexpr Field kBucketCapacity = amount("bucket_capacity", "Another name of capacity.", true);
inline constexpr Field kRefill = rate("refill", "How fast the bucket fills again.", false);
inline constexpr Field kRefillPerSec = per_second("refill_per_sec", "refill in units per second.");
inline constexpr Field kRefillRatePerSec = per_second("refill_rate_per_sec", "Another name of refill_per_sec.");
inline constexpr Field kLeak = rate("leak", "How fast the bucket runs empty.", false);
inline constexpr Field kLeakPerSec = per_second("leak_per_sec", "leak in units per second.");
inline constexpr Field kLeakRatePerSec = per_second("leak_rate_per_sec", "Another name of leak_per_sec.");
inline constexpr Field kRate =
    rate("rate",
         "One text such as 10/minute. For a window, it replaces `limit` and `window`. For a bucket, it replaces "
         "`refill` or `leak`. Except in an override, its first number is the default of a bucket's `capacity`.",
         true);
inline constexpr Field kLimit = amount(
    "limit", "How much each window or period allows, or how many leases may be held at once. 0 denies everything.",
    false);
inline constexpr Field kWindow = row::duration("window", kMinWindow, kMaxWindow, "How long the window is.");
inline constexpr Field kAlign = row::choice("align", kAlignNames, "Align", "epoch", "");
inline constexpr Field kLeaseTtl = row::duration("lease_ttl", kMinLeaseTtl, kMaxLeaseTtl,
                                                 "A lease that nobody releases or renews ends after this time.");
inline constexpr Field kPeriod{
    .name = "period", .type = Field::Type::text, .choices = kPeriodNames, .schema = "Period", .always = true};
inline constexpr Field kAnchor =
    row::instant("anchor", "Periods are counted from this time. Default: they follow the calendar in UTC.");
inline constexpr Field kBurst =
    amount("burst", "How many units may be charged at once. Default: the first number in `rate`.", true);

}  // namespace limit_field

// The fields that only some algorithms have, in the order in which their faults are listed.
inline constexpr std::array kLimitFields{
    limit_field::kCapacity,     limit_field::kBucketCapacity,   limit_field::kRefill,
    limit_field::kRefillPerSec, limit_field::kRefillRatePerSec, limit_field::kLeak,
    limit_field::kLeakPerSec,   limit_field::kLeakRatePerSec,   limit_field::kRate,
    limit_field::kLimit,        limit_field::kWindow,           limit_field::kAlign,
    limit_field::kLeaseTtl,     limit_field::kPeriod,           limit_field::kAnchor,
    limit_field::kBurst};

// Names of these fields in other limiters.
inline constexpr std::array kLimitAliases{json::FieldAlias{"max_requests", "limit"},
                                          json::FieldAlias{"max_value", "limit"}, json::FieldAlias{"expiry", "window"},
                                          json::FieldAlias{"interval", "window"},
                                          json::FieldAlias{"seconds", "window"}};

// Call it before the fields of a limit are read.
void accept_limit_aliases(json::Fields& fields);

// Reads algorithm, unit and numbers, but not `name` and `key_by`. Faults are added to `fields`.
void read_limit_fields(json::Fields& fields, Limit& limit);

// Returns the first of `names` that is given; "" if none is. Each further one is a fault.
std::string_view only_one_of(json::Fields& fields, std::initializer_list<std::string_view> names);

// Finds the faults that each of the numbers has by itself: without a valid algorithm, or a limit to compare with.
void read_limit_values(json::Fields& fields);

// Like only_one_of, with the fields that can give the rate of a bucket. REQUIRES: is_bucket(algorithm).
std::string_view given_rate(json::Fields& fields, Algorithm algorithm);

// Keeps the numbers as they were written. Only a number of units per second (refill_per_sec) becomes a fraction in
// lowest terms. Returns nullopt if the field is absent or at fault.
std::optional<WrittenRate> read_rate(json::Fields& fields, std::string_view name);

}  // namespace sluice
