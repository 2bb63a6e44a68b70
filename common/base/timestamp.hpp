// Points in time as RFC 3339 text.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice {

// Reads "2027-03-31T00:00:00Z", with up to 6 fractional digits and any offset ("+05:30"); 'T' and 'Z' in either case.
// Error `timestamp` for any other text, a leap second (":60"), or a time outside the years 1970 to 9999 of UTC.
Result<std::chrono::sys_time<std::chrono::microseconds>> parse_timestamp(std::string_view text);

// The canonical text, in UTC with 'Z'. The fraction has 0, 3 or 6 digits, the fewest that show the time exactly.
// REQUIRES: a time in the years 1970 to 9999.
std::string format_timestamp(std::chrono::sys_time<std::chrono::microseconds> time);

}  // namespace sluice
