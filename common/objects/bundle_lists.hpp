// How objects of each kind are read and written in a Bundle, for code that treats all kinds alike.
//
// Thread safety: constants.
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
  std::span<const json::Field> fields;
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
