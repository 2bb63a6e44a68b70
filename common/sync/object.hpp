// One object of a scope as it travels from server to agents: who it is, and the bytes of its document, which nobody
// writes anew on the way, so that both ends hash the same.
//
// Thread safety: immutable once made; shared freely between threads.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/crypto.hpp"
#include "common/domain/object_kind.hpp"

namespace sluice::sync {

using sluice::ObjectKind;

inline constexpr std::string_view kObjectKindNames = "settings, organization, tenant, plan, policy, key";

std::string_view to_string(ObjectKind kind);
std::optional<ObjectKind> object_kind_from(std::string_view name);

// Ordered by kind, tenant, id: what belongs to a tenant stands together within its kind.
struct ObjectIdView {
  ObjectKind kind = ObjectKind::settings;
  std::string_view tenant_id;  // of plans, policies and keys; else ""
  std::string_view id;         // "" of the settings, of which there is one object

  auto operator<=>(const ObjectIdView&) const = default;
  bool operator==(const ObjectIdView&) const = default;
};

struct ObjectId {
  ObjectKind kind = ObjectKind::settings;
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

// "policy orders of tenant shop", for texts.
std::string describe(const ObjectIdView& id);

class Object {
 public:
  // REQUIRES: !check_id(id); `document` is the canonical JSON text of the object as an element of a bundle's list.
  Object(const ObjectIdView& id, std::string_view document);
  // The same, where its hash is known already: REQUIRES that it is the one that hash() promises.
  Object(const ObjectIdView& id, std::string_view document, const Sha256Digest& hash);
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  ObjectIdView id() const;
  std::string_view document() const;
  // SHA-256 of kind, tenant_id, id and document, each behind its length in bytes (8 bytes, big-endian).
  const Sha256Digest& hash() const { return hash_; }

 private:
  Sha256Digest hash_;
  ObjectKind kind_;
  std::uint8_t tenant_size_;
  std::uint8_t id_size_;
  std::string text_;  // tenant_id, id, document: one allocation for all three
};

using ObjectPtr = std::shared_ptr<const Object>;

// An object whose texts belong to somebody else.
struct ObjectView {
  ObjectIdView id;
  std::string_view document;
};
inline ObjectView view_of(const Object& object) { return {.id = object.id(), .document = object.document()}; }

// REQUIRES: as of Object.
ObjectPtr make_object(const ObjectIdView& id, std::string_view document);

}  // namespace sluice::sync
