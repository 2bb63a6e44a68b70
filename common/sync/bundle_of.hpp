// Turns the objects of a scope into a bundle, with the code that reads bundle files.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/sync/object_set.hpp"

namespace sluice::sync {

// A member of an object's document that this release does not know.
struct NewerField {
  ObjectId object;
  std::string pointer;  // leads into the object's document
};
using NewerFields = std::vector<NewerField>;

// With `newer`, members of no known name are listed there instead of being faults: a server of a later release sends
// them. Only names are judged so. An unknown value, such as another algorithm, stays a fault.
//
// `check` is as in parse_bundle(). Faults: those of bundles, and a document whose id differs from the id under which it
// was sent. The text of a fault names the object, and the pointer leads into that object's document: {"/match_expr",
// "policy orders of tenant shop: …"}.
std::expected<Bundle, Faults> to_bundle(const ObjectSet& objects, ExpressionCheck check = nullptr,
                                        NewerFields* newer = nullptr);
// REQUIRES: `objects` are sorted by id.
std::expected<Bundle, Faults> to_bundle(std::span<const ObjectView> objects, ExpressionCheck check = nullptr,
                                        NewerFields* newer = nullptr);

// A bundle that is enough to compile `wanted`: the wanted objects, all objects that they refer to directly or
// indirectly, and the platform's settings. Faults: those of to_bundle(). REQUIRES: `objects` contains all of `wanted`.
std::expected<Bundle, Faults> to_bundle_part(const ObjectSet& objects, std::span<const ObjectPtr> wanted,
                                             ExpressionCheck check = nullptr, NewerFields* newer = nullptr);

}  // namespace sluice::sync
