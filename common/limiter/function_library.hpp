// The scripts that agents call, as a library of Redis functions (FUNCTION LOAD). A Redis user can have the right to
// call these functions (FCALL) without the right to bring scripts of its own.
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <string_view>

#include "common/limiter/script_calls.hpp"

namespace sluice::limiter {

// Libraries and functions share one name space in Redis. So all names carry a hash of the library's text, and the
// libraries of several releases live side by side.
struct FunctionLibrary {
  std::string name;  // "sluice_" and 16 hex digits
  std::string text;  // for FUNCTION LOAD
};
const FunctionLibrary& function_library();

// The library has no function for the scripts that only servers call (overrides, reset).
std::string_view function_name(Script script);

}  // namespace sluice::limiter
