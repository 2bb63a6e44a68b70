// Builds a Bundle from parsed documents: files, requests or stored objects. Checks shapes, ranges, unique ids and
// references.
//
// Objects must come in the order of Kind, so that each one comes after the objects it refers to. An object with faults
// is in the bundle too. If its id and tenant are valid, references to it are not faults.
//
// Thread safety: none.
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

  // How many objects of a kind will come. REQUIRES: called for tenants before the first tenant is read.
  void expect(Kind kind, std::size_t count);

  // Who wrote the objects that are read from now on; at first Author::sluice.
  void set_author(Author author) {
    author_ = author;
    faults_.keep_notes(author == Author::person);
  }
  void set_mode(Mode mode) { bundle_.mode = mode; }
  // Keeps no reference to `value`. For Kind::setting, `value` is an object such as {"mode":"shadow"}.
  // REQUIRES: bundles have a list of this kind, or `kind` is Kind::setting.
  void read(Kind kind, const json::Value& value, const json::Place& at);
  // REQUIRES: at least one object of this kind was read.
  ObjectIdView last(Kind kind) const;

  json::FaultList& faults() { return faults_; }
  const Bundle& bundle() const { return bundle_; }
  Bundle take() { return std::move(bundle_); }

 private:
  friend struct BundleLists;

  IdIndex& ids(Kind kind) { return ids_[static_cast<std::size_t>(kind)]; }
  // For objects that refer only to their tenant.
  template <class Item, class Read>
  void read_of_tenant(Kind kind, json::Fields& fields, Item& item, Read read) {
    const std::size_t faults_before = faults_.count();
    read(fields, tenants_, item);
    if (!item.tenant_id.empty()) add_id(kind, fields, faults_.count() == faults_before);
  }
  // Adds the id of the object read last. `sound`: what others that refer to it are compared with has no fault.
  void add_id(Kind kind, json::Fields& fields, bool sound);
  void read_settings(json::Fields& fields);
  void read_organization(json::Fields& fields, Organization& item);
  void read_tenant(json::Fields& fields, Tenant& item);
  void read_plan(json::Fields& fields, Plan& item);
  void read_policy(json::Fields& fields, Policy& item);
  void read_key(json::Fields& fields, ApiKey& item);
  void read_override(json::Fields& fields, Override& item);
  bool check_plan(json::Fields& fields, const Policy& policy, bool sound);
  void check_only_override_of_target(json::Fields& fields, const Override& item);

  ExpressionCheck check_;
  Author author_ = Author::sluice;
  Bundle bundle_;
  json::FaultList faults_;
  TenantIndex tenants_;
  std::vector<IdIndex> ids_;                              // by kind
  std::unordered_map<std::string, std::string> targets_;  // override ids by target_of(override)
};

}  // namespace sluice
