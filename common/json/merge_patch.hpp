// Merge patches (RFC 7396): a member replaces one of the same name, null removes it, objects are merged member by
// member.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "common/json/tree.hpp"

namespace sluice::json {

// The text of `target` changed by `patch`. Numbers stay as they were written, members keep their order, new ones
// follow.
std::string merged(const Value& target, const Value& patch);

// The patch that turns `before` into `after`. REQUIRES: objects; `after` holds no null.
std::string merge_patch(const Value& before, const Value& after);

}  // namespace sluice::json
