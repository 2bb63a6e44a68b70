// Reads the objects of a bundle one by one, into a Bundle: shapes, ranges, ids in use, references.
//
// What is referred to comes first: organizations, tenants, plans, policies, keys, overrides. A value is of no use any
// more once its read_… has returned: a reader of very many objects need not have all of their trees at once.
//
// Thread safety: none; belongs to the one reader. Invariant: what has faults is in the bundle and in the indexes too,
// so that a reference to it is not reported as dangling.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/domain/bundle.hpp"
#include "common/domain/references.hpp"
#include "common/json/fields.hpp"

namespace sluice {

class BundleReader {
 public:
  explicit BundleReader(ExpressionCheck check) : check_(check) {}

  // How many there will be. Of tenants this must be said before the first: one that is not found may be a faulty one.
  void expect_tenants(std::size_t count);
  void expect_policies(std::size_t count);
  void expect_keys(std::size_t count);

  void set_mode(Mode mode) { bundle_.mode = mode; }
  void read_organization(const json::Value& value, const json::Place& at);
  void read_tenant(const json::Value& value, const json::Place& at);
  void read_plan(const json::Value& value, const json::Place& at);
  void read_policy(const json::Value& value, const json::Place& at);
  void read_key(const json::Value& value, const json::Place& at);
  void read_override(const json::Value& value, const json::Place& at);

  json::FaultList& faults() { return faults_; }
  const Bundle& bundle() const { return bundle_; }  // so far
  Bundle take() { return std::move(bundle_); }

 private:
  void check_plan(json::Fields& fields, const Policy& policy, bool sound);
  void check_single(json::Fields& fields, const Override& item);

  ExpressionCheck check_;
  Bundle bundle_;
  json::FaultList faults_;
  TenantIndex tenants_;
  IdIndex organizations_{"organization"};
  IdIndex plans_{"plan"};
  IdIndex policies_{"policy"};
  IdIndex keys_{"key"};
  IdIndex overrides_{"override"};
  std::unordered_map<std::string, std::string> targets_;  // of an override → its id
};

}  // namespace sluice
