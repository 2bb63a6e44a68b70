// Applies and makes merge patches (RFC 7396).
//
// Thread safety: that of the Tree (tree.hpp).
#pragma once

#include <string>

#include "common/json/tree.hpp"

namespace sluice::json {

// Members keep their order; new members come last. REQUIRES: `tree` owns `target` and `patch`.
Value merged(Tree& tree, const Value& target, const Value& patch);

// Returns the patch that turns `before` into `after`. REQUIRES: `before` and `after` are objects, and `after` contains
// no null, because a null in a patch removes the member.
std::string merge_patch(const Value& before, const Value& after);

}  // namespace sluice::json
