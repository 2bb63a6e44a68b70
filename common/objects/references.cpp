#include "common/objects/references.hpp"

#include <fmt/core.h>

#include <limits>

#include "common/base/text.hpp"
#include "common/domain/identifiers.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMostHints = 100;
constexpr std::size_t kAnyLength = std::numeric_limits<std::size_t>::max();

std::string next_sentence(const std::string& sentence) { return sentence.empty() ? sentence : "." + sentence; }

}  // namespace

std::string read_id(json::Fields& fields, std::string_view kind) {
  if (!fields.present("id")) fields.require("id", fmt::format("every {} has one", kind));
  return read_optional_id(fields, "id");
}

std::string_view written_id(json::Fields& fields) {
  const json::Value* const id = fields.take("id");
  return id != nullptr && id->type() == json::Type::string ? id->text() : std::string_view();
}

std::string read_optional_id(json::Fields& fields, std::string_view name) {
  const auto id = fields.text(name, kAnyLength);
  if (!id) return {};
  if (is_id(*id)) return std::string(*id);
  fields.fault(
      name, fmt::format("{} must be 1 to {} characters from a-z 0-9 . -, starting with a letter or digit; got {}", name,
                        kMaxIdBytes, quoted(*id)));
  return {};
}

std::string IdIndex::key(std::string_view scope, std::string_view id) {
  std::string key;
  key.reserve(scope.size() + 1 + id.size());
  return key.append(scope).append("\n").append(id);  // ids contain no newline
}

void IdIndex::add(json::Fields& fields, std::string_view scope, std::string_view id, const Entry& entry) {
  if (id.empty()) return;
  if (entries_.try_emplace(key(scope, id), entry).second) return;
  fields.fault("id", scope.empty() ? fmt::format("{0} {1} exists already: {0} ids are unique", kind_, quoted(id))
                                   : fmt::format("{0} {1} exists already in tenant {2}: {0} ids are unique per tenant",
                                                 kind_, quoted(id), quoted(scope)));
}

IdIndex::Entry* IdIndex::find(std::string_view scope, std::string_view id) {
  const auto found = entries_.find(key(scope, id));
  return found == entries_.end() ? nullptr : &found->second;
}

IdIndex::Entry* IdIndex::refer(json::Fields& fields, std::string_view field, std::string_view scope,
                               std::string_view id, std::string_view fix) {
  Entry* const entry = find(scope, id);
  if (entry != nullptr || invalid_.contains(key(scope, id))) return entry;
  const std::string where = scope.empty() ? "" : fmt::format(" in tenant {}", quoted(scope));
  fields.fault(field, fmt::format("{} {} does not exist{}{}{}", kind_, quoted(id), where, fix, nearest_to(scope, id)));
  return nullptr;
}

std::string IdIndex::nearest_to(std::string_view scope, std::string_view id) {
  if (++hints_ > kMostHints) return {};
  const std::string before = key(scope, "");
  NearestNames nearest(id);
  for (const auto& [known, entry] : entries_) {
    if (known.starts_with(before)) nearest.offer(std::string_view(known).substr(before.size()));
  }
  return next_sentence(did_you_mean(nearest.names()));
}

void TenantIndex::add(json::Fields& fields, std::string_view id, std::string_view organization_id) {
  if (id.empty() || ids_.emplace(id, organization_id).second) return;
  fields.fault("id", fmt::format("tenant {} exists already: tenant ids are unique", quoted(id)));
}

std::string_view TenantIndex::organization_of(const std::string& tenant_id) const {
  const auto found = ids_.find(tenant_id);
  return found == ids_.end() ? std::string_view() : found->second;
}

std::string TenantIndex::read_tenant_id(json::Fields& fields) const {
  if (!fields.present("tenant_id")) {
    if (count_ == 1) return ids_.empty() ? std::string() : ids_.begin()->first;
    if (fields.is_object()) {
      fields.fault("tenant_id", fmt::format("tenant_id is missing: it may be left out only if the bundle has exactly "
                                            "one tenant; this bundle has {}",
                                            count_));
    }
    return {};
  }
  const auto id = fields.text("tenant_id", kAnyLength);
  if (!id) return {};
  if (ids_.contains(std::string(*id))) return std::string(*id);
  if (!means_invalid(*id)) {
    fields.fault("tenant_id", fmt::format("tenant {} does not exist: create it, or list it in the bundle's tenants{}",
                                          quoted(*id), nearest_to(*id)));
  }
  return {};
}

std::string TenantIndex::nearest_to(std::string_view id) const {
  if (++hints_ > kMostHints) return {};
  NearestNames nearest(id);
  for (const auto& [known, organization] : ids_) nearest.offer(known);
  return next_sentence(did_you_mean(nearest.names()));
}

}  // namespace sluice
