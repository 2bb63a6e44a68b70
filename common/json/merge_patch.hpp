// Merge patches (RFC 7396): a member replaces one of the same name, null removes it, objects are merged member by
// member.
//
// Thread safety: none beyond that of the tree.
#pragma once

#include <string>

#include "common/json/tree.hpp"

namespace sluice::json {

// `target` changed by `patch`, both of `tree`. Numbers stay as they were written, members keep their order, new ones
// follow.
Value merged(Tree& tree, const Value& target, const Value& patch);

// The patch that turns `before` into `after`. REQUIRES: objects; `after` holds no null.
std::string merge_patch(const Value& before, const Value& after);

}  // namespace sluice::json
