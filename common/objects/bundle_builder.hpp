// Builds a Bundle from parsed documents, one object after the other. Checks shapes, ranges, unique ids and references.
// It reads bundle files, the bodies of the admin API, the stored documents that the server compiles, and the objects
// that agents fetch. So the same checks apply to all of them.
//
// Objects must come in the order of Kind, so that each one comes after the objects it refers to. read() keeps no
// reference to the JSON value, so a caller with many objects can free each one's JSON tree before it parses the next.
//
// Thread safety: none; belongs to one caller. Invariant: an object with faults is in the bundle too, and in the indexes
// if its id and tenant are valid. So a reference to it is not reported as dangling.
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

  // Tells the builder how many objects of a kind will come. REQUIRES: called for tenants before the first tenant is
  // read. TenantIndex compares this number with the number of valid tenant ids, to know whether any id is faulty.
  void expect(Kind kind, std::size_t count);

  void set_mode(Mode mode) { bundle_.mode = mode; }
  // Reads one object. `at`: its place in the document, for the JSON pointers of faults. The settings are an object such
  // as {"mode":"shadow"}. REQUIRES: bundles have a list of this kind, or `kind` is Kind::setting.
  void read(Kind kind, const json::Value& value, const json::Place& at);
  // The id of the object of this kind that was read last. REQUIRES: at least one was read.
  ObjectIdView last(Kind kind) const;

  json::FaultList& faults() { return faults_; }
  const Bundle& bundle() const { return bundle_; }  // all objects read so far
  Bundle take() { return std::move(bundle_); }

 private:
  friend struct BundleLists;  // its rows call the read functions below

  IdIndex& ids(Kind kind) { return ids_[static_cast<std::size_t>(kind)]; }
  // Reads an object that refers only to its tenant.
  template <class Item, class Read>
  void read_of_tenant(Kind kind, json::Fields& fields, Item& item, Read read) {
    const std::size_t faults_before = faults_.count();
    read(fields, tenants_, item);
    if (!item.tenant_id.empty()) add_id(kind, fields, faults_.count() == faults_before);
  }
  // Adds the id of the object read last to the ids in use. `sound`: the object was read without a fault.
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
  std::unordered_map<std::string, std::string> targets_;  // target_of(override) → the override's id
};

}  // namespace sluice
