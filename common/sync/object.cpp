#include "common/sync/object.hpp"

#include <array>

#include "common/domain/identifiers.hpp"

namespace sluice::sync {
namespace {

static_assert(kMaxIdBytes <= UINT8_MAX, "an object keeps the length of each id in one byte");

void add(Sha256& hash, std::string_view text) {
  std::array<std::uint8_t, 8> size;
  for (std::size_t i = 0; i < size.size(); ++i) {
    size[i] = static_cast<std::uint8_t>(std::uint64_t{text.size()} >> (56 - 8 * i));
  }
  hash.update(ByteView(size)).update(text);
}

Sha256Digest hash_of(const ObjectIdView& id, std::string_view document) {
  Sha256 hash;
  for (const std::string_view part : {info(id.kind).sync_name, id.tenant_id, id.id, document}) add(hash, part);
  return hash.finish();
}

}  // namespace

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
