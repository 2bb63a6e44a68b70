// The objects of a scope as a bundle, through the code that reads bundles: whatever it refuses in a file it refuses in
// what came from the server.
//
// Thread safety: pure functions.
#pragma once

#include <expected>
#include <span>
#include <vector>

#include "common/base/error.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/sync/object_set.hpp"

namespace sluice::sync {

// All objects. Costs what reading a bundle file of this size costs.
// Faults: those of bundles, and a document that is about another object than it was sent as. Each names its object in
// its text, and its pointer leads into that object's document: {"/match_expr", "policy orders of tenant shop: …"}.
std::expected<Bundle, Faults> to_bundle(const ObjectSet& objects, ExpressionCheck check = nullptr);
// The same of objects that stand somewhere else. REQUIRES: in order, as in a set.
std::expected<Bundle, Faults> to_bundle(std::span<const ObjectView> objects, ExpressionCheck check = nullptr);

// Some objects of the set, and with them what they refer to, directly or not, and the settings: enough to read and
// compile them without the others. Costs what these objects cost.
// REQUIRES: all of `wanted` are in the set. Faults: as of to_bundle.
std::expected<Bundle, Faults> to_bundle_part(const ObjectSet& objects, std::span<const ObjectPtr> wanted,
                                             ExpressionCheck check = nullptr);

}  // namespace sluice::sync
