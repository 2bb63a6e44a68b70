// What a bundle's objects are known by while it is read: ids in use, and what refers to what.
//
// Thread safety: none; belongs to the one reader.
// Invariant: an object with faults is indexed too, so that a reference to it is not reported as dangling.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "common/domain/plan.hpp"
#include "common/json/fields.hpp"

namespace sluice {

// Reads the required field `id` and checks its shape; "" where it is faulty.
std::string read_id(json::Fields& fields, std::string_view kind);
// Reads a field that may hold an id, as read_id() does; "" where it is absent too. An empty text is no id.
std::string read_optional_id(json::Fields& fields, std::string_view name);

// Ids of one kind, each known by a number the caller chooses. `scope` is the tenant, or "" for global ids.
class IdIndex {
 public:
  struct Entry {
    std::size_t index = 0;    // into the caller's vector
    bool sound = false;       // it was read without a fault
    Micros longest_delay{0};  // plans: of the policies that delay by it
  };

  explicit IdIndex(std::string_view kind) : kind_(kind) {}

  void reserve(std::size_t ids) { entries_.reserve(ids); }  // so many are expected

  // Reports an id that is in use. Does nothing for "".
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
  // REQUIRES: all tenants are added before the first read_tenant_id.
  void add(json::Fields& fields, std::string_view id);
  void set_count(std::size_t tenants) { count_ = tenants; }

  // Reads `tenant_id`; where it is absent and the bundle has exactly one tenant, it is that one.
  // "" after a fault.
  std::string read_tenant_id(json::Fields& fields) const;

 private:
  std::unordered_set<std::string> ids_;
  std::size_t count_ =
      0;  // also those whose id is faulty: while some are, a tenant that is not found may be one of them
};

}  // namespace sluice
