// Indexes of the ids in a bundle, for finding duplicate ids and references to missing objects.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/domain/plan.hpp"
#include "common/json/fields.hpp"

namespace sluice {

// Reads the required field `id`. Returns "" after a fault.
std::string read_id(json::Fields& fields, std::string_view kind);
// Returns "" if the field is absent, and after a fault. An empty text is a fault.
std::string read_optional_id(json::Fields& fields, std::string_view name);

// The ids of one kind. `scope`: the tenant, or "" for ids that are unique in the whole bundle.
class IdIndex {
 public:
  struct Entry {
    std::size_t index = 0;    // in the caller's vector
    bool sound = false;       // the object was read without a fault
    Micros longest_delay{0};  // of a plan: the longest max_delay of its policies
  };

  explicit IdIndex(std::string_view kind) : kind_(kind) {}

  void reserve(std::size_t ids) { entries_.reserve(ids); }

  // Adds a fault to `fields` if the id is in use. Does nothing for "".
  void add(json::Fields& fields, std::string_view scope, std::string_view id, const Entry& entry);
  Entry* find(std::string_view scope, std::string_view id);

 private:
  std::string key(std::string_view scope, std::string_view id) const;

  std::string_view kind_;
  std::unordered_map<std::string, Entry> entries_;
};

class TenantIndex {
 public:
  // Adds a fault to `fields` if the id is in use. REQUIRES: all tenants are added before read_tenant_id() is called.
  void add(json::Fields& fields, std::string_view id, std::string_view organization_id);
  // `tenants` includes tenants with a faulty id.
  void set_count(std::size_t tenants) { count_ = tenants; }

  // If `tenant_id` is absent and the bundle has exactly one tenant, returns that tenant. Returns "" after a fault.
  std::string read_tenant_id(json::Fields& fields) const;
  // Returns "" if the tenant is unknown or names no organization.
  std::string_view organization_of(const std::string& tenant_id) const;

 private:
  std::unordered_map<std::string, std::string> ids_;  // with the tenant's organization
  // If count_ is greater than ids_.size(), some tenant has a faulty id. Then an unknown tenant_id is not reported,
  // because it may refer to that tenant.
  std::size_t count_ = 0;
};

}  // namespace sluice
