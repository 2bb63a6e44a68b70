// Indexes of the ids in a bundle, for finding duplicate ids and references to missing objects.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "common/domain/plan.hpp"
#include "common/json/fields.hpp"

namespace sluice {

// Reads the required field `id`. Returns "" after a fault.
std::string read_id(json::Fields& fields, std::string_view kind);
// Reads the field `id` as it is written, without a fault. Returns "" if it is no text.
std::string_view written_id(json::Fields& fields);
// Returns "" if the field is absent, and after a fault. An empty text is a fault.
std::string read_optional_id(json::Fields& fields, std::string_view name);

// The ids of one kind. `scope`: the tenant, or "" for ids that are unique in the whole bundle.
class IdIndex {
 public:
  struct Entry {
    std::size_t index = 0;    // in the caller's vector
    bool sound = false;       // of a plan or policy: its limits and enforcement were read without a fault
    Micros longest_delay{0};  // of a plan: the longest max_delay of its policies
  };

  explicit IdIndex(std::string_view kind) : kind_(kind) {}

  void reserve(std::size_t ids) { entries_.reserve(ids); }

  // Adds a fault to `fields` if the id is in use. Does nothing for "".
  void add(json::Fields& fields, std::string_view scope, std::string_view id, const Entry& entry);
  // A text that an object has as its id, and that is no id: a fault already.
  void add_invalid(std::string_view scope, std::string_view text) { invalid_.insert(key(scope, text)); }
  Entry* find(std::string_view scope, std::string_view id);
  // As find(). If no object has the id, adds a fault with `fix` and the nearest ids. But adds none if an object has the
  // same text as its invalid id, because that is a fault already.
  Entry* refer(json::Fields& fields, std::string_view field, std::string_view scope, std::string_view id,
               std::string_view fix = {});

 private:
  static std::string key(std::string_view scope, std::string_view id);
  std::string nearest_to(std::string_view scope, std::string_view id);

  std::string_view kind_;
  std::unordered_map<std::string, Entry> entries_;
  std::unordered_set<std::string> invalid_;
  std::size_t hints_ = 0;  // each visits all ids, so only the first faults have one
};

class TenantIndex {
 public:
  // Adds a fault to `fields` if the id is in use. REQUIRES: all tenants are added before read_tenant_id() is called.
  void add(json::Fields& fields, std::string_view id, std::string_view organization_id);
  // `tenants` includes tenants with a faulty id.
  void set_count(std::size_t tenants) { count_ = tenants; }
  // A text that a tenant has as its id, and that is no id; "" if it has none. A fault already.
  void add_invalid(std::string_view text) { invalid_.emplace(text); }

  // If `tenant_id` is absent and the bundle has exactly one tenant, returns that tenant. Returns "" after a fault.
  std::string read_tenant_id(json::Fields& fields) const;
  // Returns "" if the tenant is unknown or names no organization.
  std::string_view organization_of(const std::string& tenant_id) const;

 private:
  // Whether a tenant has a faulty id. Then an unknown tenant_id may mean that tenant.
  bool means_invalid(std::string_view id) const { return invalid_.contains("") || invalid_.contains(std::string(id)); }
  std::string nearest_to(std::string_view id) const;

  std::unordered_map<std::string, std::string> ids_;  // with the tenant's organization
  std::unordered_set<std::string> invalid_;
  std::size_t count_ = 0;
  mutable std::size_t hints_ = 0;  // as of IdIndex
};

}  // namespace sluice
