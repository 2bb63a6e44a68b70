// Identifies an object by its kind, its tenant and its id.
//
// Thread safety: values.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "common/objects/kind.hpp"

namespace sluice {

struct ObjectIdView {
  Kind kind = Kind::setting;
  std::string_view tenant_id;  // "" if the kind does not belong to a tenant
  std::string_view id;         // "" for the settings

  auto operator<=>(const ObjectIdView&) const = default;
  bool operator==(const ObjectIdView&) const = default;
};

struct ObjectId {
  Kind kind = Kind::setting;
  std::string tenant_id;
  std::string id;

  ObjectIdView view() const { return {kind, tenant_id, id}; }
  bool operator==(const ObjectId&) const = default;
};

struct IdFault {
  std::string_view member;  // "tenant_id" or "id"
  std::string text;
};
// Returns nullopt if the id is valid.
std::optional<IdFault> check_id(const ObjectIdView& id);

// For messages, such as "policy orders of tenant shop".
std::string describe(const ObjectIdView& id);

}  // namespace sluice
