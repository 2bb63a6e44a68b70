// For each kind of object: the object's fields, and the functions that read, count, identify and write objects in the
// kind's list of a Bundle. For code that treats all kinds alike.
//
// Thread safety: the rows are constant; their functions use only the caller's arguments.
#pragma once

#include <cstddef>
#include <span>

#include "common/domain/bundle.hpp"
#include "common/json/field.hpp"
#include "common/json/writer.hpp"
#include "common/objects/bundle_builder.hpp"
#include "common/objects/object_id.hpp"

namespace sluice {

struct BundleListAccess {
  std::span<const json::Field> fields;  // of one object
  void (*reserve)(Bundle& bundle, std::size_t objects);
  void (*read)(BundleBuilder& builder, json::Fields& fields);  // appends one object
  std::size_t (*size)(const Bundle& bundle);
  ObjectIdView (*id)(const Bundle& bundle, std::size_t index);
  // Writes the canonical form.
  void (*write)(json::Writer& out, const Bundle& bundle, std::size_t index);
};

// REQUIRES: bundles have a list of this kind.
const BundleListAccess& list_access(Kind kind);

}  // namespace sluice
