#include "common/sync/object.hpp"

#include <fmt/core.h>

#include <array>

#include "common/base/text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/json/fields.hpp"

namespace sluice::sync {
namespace {

constexpr std::array<std::string_view, 6> kNames{"settings", "organization", "tenant", "plan", "policy", "key"};

static_assert(kMaxIdBytes <= UINT8_MAX, "an object keeps the lengths of its ids in a byte each");

void add(Sha256& hash, std::string_view text) {
  std::array<std::uint8_t, 8> size;
  for (std::size_t i = 0; i < size.size(); ++i) {
    size[i] = static_cast<std::uint8_t>(std::uint64_t{text.size()} >> (56 - 8 * i));
  }
  hash.update(ByteView(size)).update(text);
}

Sha256Digest hash_of(const ObjectIdView& id, std::string_view document) {
  Sha256 hash;
  for (const std::string_view part : {to_string(id.kind), id.tenant_id, id.id, document}) add(hash, part);
  return hash.finish();
}

IdFault not_an_id(std::string_view member, std::string_view text) {
  return {member, fmt::format("{} must be 1 to {} of a-z 0-9 . -, beginning with a letter or digit, not {}", member,
                              kMaxIdBytes, quoted(text))};
}

}  // namespace

std::string_view to_string(ObjectKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::optional<ObjectKind> object_kind_from(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<ObjectKind>(i);
  }
  return std::nullopt;
}

std::optional<IdFault> check_id(const ObjectIdView& id) {
  const bool in_tenant = id.kind > ObjectKind::tenant;
  if (in_tenant && !is_id(id.tenant_id)) return not_an_id("tenant_id", id.tenant_id);
  if (!in_tenant && !id.tenant_id.empty()) {
    return IdFault{"tenant_id", fmt::format("tenant_id must be \"\" for objects of kind {}, not {}", to_string(id.kind),
                                            quoted(id.tenant_id))};
  }
  if (id.kind != ObjectKind::settings) return is_id(id.id) ? std::nullopt : std::optional(not_an_id("id", id.id));
  if (id.id.empty()) return std::nullopt;
  return IdFault{"id",
                 fmt::format("id must be \"\" for the settings, of which there is one object, not {}", quoted(id.id))};
}

std::string describe(const ObjectIdView& id) {
  if (id.kind == ObjectKind::settings) return "the settings";
  if (id.kind <= ObjectKind::tenant) return fmt::format("{} {}", to_string(id.kind), id.id);
  return fmt::format("{} {} of tenant {}", to_string(id.kind), id.id, id.tenant_id);
}

Object::Object(const ObjectIdView& id, std::string_view document) : Object(id, document, hash_of(id, document)) {}

Object::Object(const ObjectIdView& id, std::string_view document, const Sha256Digest& hash)
    : hash_(hash),
      kind_(id.kind),
      tenant_size_(static_cast<std::uint8_t>(id.tenant_id.size())),
      id_size_(static_cast<std::uint8_t>(id.id.size())) {
  text_.reserve(id.tenant_id.size() + id.id.size() + document.size());
  text_.append(id.tenant_id).append(id.id).append(document);
}

ObjectIdView Object::id() const {
  const std::string_view text = text_;
  return {kind_, text.substr(0, tenant_size_), text.substr(tenant_size_, id_size_)};
}

std::string_view Object::document() const {
  return std::string_view(text_).substr(std::size_t{tenant_size_} + id_size_);
}

ObjectPtr make_object(const ObjectIdView& id, std::string_view document) {
  return std::make_shared<const Object>(id, document);
}

}  // namespace sluice::sync
