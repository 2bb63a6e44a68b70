// Applies and makes merge patches (RFC 7396). A member of the patch replaces the member of the same name, null removes
// it, and objects are merged member by member.
//
// Thread safety: that of the tree.
#pragma once

#include <string>

#include "common/json/tree.hpp"

namespace sluice::json {

// `target` changed by `patch`. Numbers keep their digits, and members their order; new members come last.
// REQUIRES: `tree` owns both.
Value merged(Tree& tree, const Value& target, const Value& patch);

// The patch that turns `before` into `after`. REQUIRES: both are objects, and `after` contains no null.
std::string merge_patch(const Value& before, const Value& after);

}  // namespace sluice::json
