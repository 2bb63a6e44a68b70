// Finds values of a scope that are taken literally, and were most likely meant as a pattern of another program.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/domain/dimension.hpp"

namespace sluice::policy {

// What the value means instead, with the fix. nullopt: it means what it seems to mean.
std::optional<std::string> scope_doubt(const DimensionRef& dimension, std::string_view value);

}  // namespace sluice::policy
