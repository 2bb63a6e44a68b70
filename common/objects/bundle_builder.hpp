// Makes a Bundle of parsed documents, one object after the other: shapes, ranges, ids in use, references. Bundle files,
// the admin API, the server's rules and the agent's synced objects are all read by it, so they all have the same rules.
//
// What is referred to comes first: organizations, tenants, plans, policies, keys, overrides, the order of Kind. A value
// is not needed any more once read() has returned: a caller with very many objects need not have all their trees at
// once.
//
// Thread safety: none; belongs to the one caller. Invariant: an object with faults is in the bundle and in the indexes
// too, so that a reference to it is not reported as dangling.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/domain/bundle.hpp"
#include "common/json/fields.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/objects/object_id.hpp"
#include "common/objects/references.hpp"

namespace sluice {

class BundleBuilder {
 public:
  explicit BundleBuilder(ExpressionCheck check);

  // How many objects of a kind will come. For tenants it must be said before the first is read: a tenant that is not
  // found may be one with a faulty id.
  void expect(Kind kind, std::size_t count);

  void set_mode(Mode mode) { bundle_.mode = mode; }
  // Reads one object; `at` is its place in the document that the faults are about. The settings are {"mode":"shadow"},
  // what a bundle has at its top. REQUIRES: the kind is in bundles, or the settings.
  void read(Kind kind, const json::Value& value, const json::Place& at);
  // The id of the object of this kind that was read last. REQUIRES: there is one.
  ObjectIdView last(Kind kind) const;

  json::FaultList& faults() { return faults_; }
  const Bundle& bundle() const { return bundle_; }  // so far
  Bundle take() { return std::move(bundle_); }

 private:
  friend struct BundleLists;  // its rows call the readers

  IdIndex& ids(Kind kind) { return ids_[static_cast<std::size_t>(kind)]; }
  // An object that refers to nothing but its tenant.
  template <class Item, class Read>
  void read_of_tenant(Kind kind, json::Fields& fields, Item& item, Read read) {
    const std::size_t faults_before = faults_.count();
    read(fields, tenants_, item);
    if (!item.tenant_id.empty()) add_id(kind, fields, faults_.count() == faults_before);
  }
  // Adds the object read last to the ids in use. `sound`: it was read without a fault.
  void add_id(Kind kind, json::Fields& fields, bool sound);
  void read_settings(json::Fields& fields);
  void read_organization(json::Fields& fields, Organization& item);
  void read_tenant(json::Fields& fields, Tenant& item);
  void read_policy(json::Fields& fields, Policy& item);
  void read_key(json::Fields& fields, ApiKey& item);
  void read_override(json::Fields& fields, Override& item);
  void check_plan(json::Fields& fields, const Policy& policy, bool sound);
  void check_single(json::Fields& fields, const Override& item);

  ExpressionCheck check_;
  Bundle bundle_;
  json::FaultList faults_;
  TenantIndex tenants_;
  std::vector<IdIndex> ids_;                              // by kind
  std::unordered_map<std::string, std::string> targets_;  // of an override → its id
};

}  // namespace sluice
