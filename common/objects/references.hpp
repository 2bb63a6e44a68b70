// Indexes of the ids in a bundle, for BundleBuilder: they find duplicate ids and references to missing objects.
//
// Thread safety: none; belongs to one builder.
// Invariant: an object with faults is indexed too, if its id and tenant are valid. So a reference to it is not reported
// as dangling.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "common/domain/plan.hpp"
#include "common/json/fields.hpp"

namespace sluice {

// Reads the required field `id` and checks its shape. Returns "" after a fault.
std::string read_id(json::Fields& fields, std::string_view kind);
// Reads an optional id and checks its shape: an empty text is a fault. Returns "" if the field is absent, and after a
// fault.
std::string read_optional_id(json::Fields& fields, std::string_view name);

// The ids of one kind, with the index of each object. `scope`: the tenant, or "" for ids that are unique in the whole
// bundle.
class IdIndex {
 public:
  struct Entry {
    std::size_t index = 0;    // in the caller's vector
    bool sound = false;       // the object was read without a fault
    Micros longest_delay{0};  // of a plan: the longest max_delay of its policies
  };

  explicit IdIndex(std::string_view kind) : kind_(kind) {}

  void reserve(std::size_t ids) { entries_.reserve(ids); }  // expected number of ids

  // Adds an id. Adds a fault to `fields` if the id is in use. Does nothing for "".
  void add(json::Fields& fields, std::string_view scope, std::string_view id, const Entry& entry);
  Entry* find(std::string_view scope, std::string_view id);

 private:
  std::string key(std::string_view scope, std::string_view id) const;

  std::string_view kind_;
  std::unordered_map<std::string, Entry> entries_;
};

// The tenants of the bundle.
class TenantIndex {
 public:
  // Adds a tenant's id, or a fault to `fields` if the id is in use. REQUIRES: all tenants are added before
  // read_tenant_id() is called.
  void add(json::Fields& fields, std::string_view id);
  // `tenants`: how many the bundle has, including those with a faulty id.
  void set_count(std::size_t tenants) { count_ = tenants; }

  // Reads `tenant_id`. If it is absent and the bundle has exactly one tenant, returns that tenant. Returns "" after a
  // fault.
  std::string read_tenant_id(json::Fields& fields) const;

 private:
  std::unordered_set<std::string> ids_;
  // The number of tenants in the bundle. If it is greater than ids_.size(), some tenant has a faulty id. A tenant_id
  // that is not in ids_ may then refer to that tenant, so it is not reported as a fault.
  std::size_t count_ = 0;
};

}  // namespace sluice
