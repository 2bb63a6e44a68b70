// Which object: its kind, its tenant and its id.
//
// Thread safety: values.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "common/objects/kind.hpp"

namespace sluice {

// Ordered by kind, tenant, id: objects of one tenant stand together within their kind.
struct ObjectIdView {
  Kind kind = Kind::setting;
  std::string_view tenant_id;  // of kinds that belong to a tenant; else ""
  std::string_view id;         // "" of the settings

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

// What is wrong with an id as a whole, naming the member and the rule; nothing where it is sound.
struct IdFault {
  std::string_view member;  // "tenant_id" or "id"
  std::string text;
};
std::optional<IdFault> check_id(const ObjectIdView& id);

// "policy orders of tenant shop", for messages.
std::string describe(const ObjectIdView& id);

}  // namespace sluice
