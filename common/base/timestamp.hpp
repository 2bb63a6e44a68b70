// Instants as RFC 3339 text.
//
// Thread safety: pure functions.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice {

// Reads "2027-03-31T00:00:00Z", with up to 6 fractional digits and any offset ("+05:30"); 'T' and 'Z' in either case.
// The instant must lie in the years 1970 to 9999 of UTC. A leap second (":60") has no place on this time line.
// Errors (code `timestamp`): another shape, a date that does not exist, an instant out of range.
Result<std::chrono::sys_time<std::chrono::microseconds>> parse_timestamp(std::string_view text);

// The canonical text: in UTC with 'Z', the fraction left out when zero, else 3 digits where they are exact, else 6.
// parse_timestamp reads it back. REQUIRES: the years 1970 to 9999.
std::string format_timestamp(std::chrono::sys_time<std::chrono::microseconds> time);

}  // namespace sluice
