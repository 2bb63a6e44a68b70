// The units of time of rate limits. Windows begin at multiples of the unit since 1970, in UTC.
//
// Thread safety: pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::rls_config {

// The numbers are those of the enum RateLimitUnit in Envoy's messages.
enum class Unit : std::uint8_t { second = 1, minute = 2, hour = 3, day = 4, month = 5, year = 6, week = 7 };

inline constexpr std::string_view kUnitNames = "second, minute, hour, day, week, month, year";

// A month has 30 days and a year 365.
std::chrono::seconds length_of(Unit unit);
std::string_view to_string(Unit unit);  // "SECOND"

std::optional<Unit> unit_from(std::string_view name);  // in upper or lower case
std::optional<Unit> unit_from(std::uint64_t number);

}  // namespace sluice::rls_config
