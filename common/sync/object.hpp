// One object as servers send it to agents. Nobody rewrites the bytes of its document, so server and agent compute the
// same hash. Immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/crypto.hpp"
#include "common/objects/object_id.hpp"

namespace sluice::sync {

class Object {
 public:
  // REQUIRES: agents get objects of this kind; check_id(id) finds no fault; `document` is canonical JSON.
  Object(const ObjectIdView& id, std::string_view document);
  // REQUIRES: `hash` is what the constructor above would compute.
  Object(const ObjectIdView& id, std::string_view document, const Sha256Digest& hash);
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  ObjectIdView id() const;
  std::string_view document() const;
  // SHA-256 of kind, tenant_id, id and document, each after its length in 8 bytes (big-endian).
  const Sha256Digest& hash() const { return hash_; }

 private:
  Sha256Digest hash_;
  Kind kind_;
  std::uint8_t tenant_size_;
  std::uint8_t id_size_;
  std::string text_;  // tenant_id, id and document
};

using ObjectPtr = std::shared_ptr<const Object>;

struct ObjectView {
  ObjectIdView id;
  std::string_view document;
};
inline ObjectView view_of(const Object& object) { return {.id = object.id(), .document = object.document()}; }

// REQUIRES: as the constructor of Object.
ObjectPtr make_object(const ObjectIdView& id, std::string_view document);

}  // namespace sluice::sync
