// Turns the objects of a scope into a bundle. It uses the code that reads bundle files, so each object from a server
// gets the same checks as an object in a file.
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

// A bundle of all objects. Costs as much as reading a bundle file with the same objects. `check`: as in parse_bundle().
// Faults: the faults of bundles, and a document whose id differs from the id under which the server sent it. The text
// of a fault names the object, and its pointer leads into that object's document: {"/match_expr", "policy orders of
// tenant shop: …"}.
std::expected<Bundle, Faults> to_bundle(const ObjectSet& objects, ExpressionCheck check = nullptr);
// The same for objects that are not in an ObjectSet. REQUIRES: `objects` are sorted by id.
std::expected<Bundle, Faults> to_bundle(std::span<const ObjectView> objects, ExpressionCheck check = nullptr);

// A bundle that is enough to compile the objects `wanted`: these objects, all objects that they refer to directly or
// indirectly, and the settings of the platform, which hold the platform's mode. The cost depends only on the objects
// in the bundle. Faults: as to_bundle().
// REQUIRES: `objects` contains all of `wanted`.
std::expected<Bundle, Faults> to_bundle_part(const ObjectSet& objects, std::span<const ObjectPtr> wanted,
                                             ExpressionCheck check = nullptr);

}  // namespace sluice::sync
