// What a change does to an object, as text: which members get another value.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "common/json/tree.hpp"

namespace sluice::ctl {

// Each member that `patch` (RFC 7396) changes, with its old value in `before` and its new one:
//     - /limits/0 …
//     + /limits/0 …
// A member that is new, or that goes, has one of these lines. `before` may be null if it is not known.
std::string describe_patch(const json::Value& before, const json::Value& patch);

// The object as YAML, each line after `sign` and a space.
std::string describe_object(const json::Value& object, char sign);

}  // namespace sluice::ctl
