// Random changes of a small world of tenants, of all kinds, valid and not, and what the world holds after them.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "common/policy/snapshot_delta.hpp"
#include "tests/unit/policy/random_policies.hpp"

namespace sluice::policy {

class DeltaWorld {
 public:
  explicit DeltaWorld(std::uint64_t seed) : random_(seed), policies_(seed) {}

  using Object = std::variant<Organization, Tenant, Plan, Policy, ApiKey>;
  struct Change {
    std::optional<Mode> mode;
    std::vector<std::pair<ObjectId, Object>> puts;
    std::vector<ObjectId> removed;
    bool fits = true;  // it removes what is there, and names every object once
  };
  static SnapshotDelta delta_of(const Change& change);
  Change change();
  const CheckRequest& request() { return policies_.request(); }

  // All objects, as they are after a change, or now.
  Bundle bundle_after(const Change& change) const;
  Bundle bundle() const { return bundle_after({}); }
  void apply(const Change& change);

  std::size_t below(std::size_t n) { return random_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }

 private:
  using Id = std::tuple<Kind, std::string, std::string>;
  using Objects = std::map<Id, Object>;  // in the order of the kinds

  void add_random(Change& change);
  void put_policy(Change& change);
  void put_plan(Change& change);
  void put_key(Change& change);
  void put_tenant(Change& change);
  void remove_any(Change& change);
  void remove_whole_tenant(Change& change);
  void spoil(Change& change);
  std::string some_tenant();

  std::mt19937_64 random_;
  RandomPolicies policies_;
  Mode mode_ = Mode::enforce;
  Objects objects_;
};

}  // namespace sluice::policy
