// Finds values of a scope, and of the identity of an override, that are taken literally and were most likely meant as a
// pattern.
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

// The same for a value of an override's identity, which is always compared as it is.
std::optional<std::string> identity_doubt(const DimensionRef& dimension, std::string_view value);

}  // namespace sluice::policy
