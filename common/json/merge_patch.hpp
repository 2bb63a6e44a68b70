// Applies and makes merge patches (RFC 7396). A member of the patch replaces the member of the same name, null removes
// it, and objects are merged member by member.
//
// Thread safety: that of the Tree (tree.hpp).
#pragma once

#include <string>

#include "common/json/tree.hpp"

namespace sluice::json {

// Returns `target` with `patch` applied. Numbers keep their digits, and members their order; new members come last.
// REQUIRES: `tree` owns `target` and `patch`.
Value merged(Tree& tree, const Value& target, const Value& patch);

// Returns the patch that turns `before` into `after`. REQUIRES: both are objects, and `after` contains no null, because
// a null in a patch removes the member.
std::string merge_patch(const Value& before, const Value& after);

}  // namespace sluice::json
