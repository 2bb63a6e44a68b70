// Times and durations on the command line. The errors name the option.
//
// Thread safety: pure functions.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice::ctl {

// The time in RFC 3339 that the value of `option` means: "1h" is an hour ago; a time stays as it is. Error: `time`.
Result<std::string> time_of(std::string_view option, const std::string& text);

// At least `least`. Error: `duration`.
Result<std::chrono::milliseconds> duration_of(std::string_view option, const std::string& text,
                                              std::chrono::milliseconds least);

}  // namespace sluice::ctl
