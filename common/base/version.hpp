// The version of this build, and the compiler that made it.
#pragma once

#include <string_view>

namespace sluice {

std::string_view version();   // "0.1.0"
std::string_view compiler();  // "clang 19.1.4"

}  // namespace sluice
