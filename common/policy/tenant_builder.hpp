// Builds the TenantView of one tenant for the next snapshot. Everything that does not change is shared with the
// tenant's previous TenantView.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/policy/snapshot.hpp"

namespace sluice::policy {

class TenantBuilder {
 public:
  explicit TenantBuilder(std::shared_ptr<const TenantView> before) : before_(std::move(before)), view_(*before_) {}
  // For a new tenant.
  explicit TenantBuilder(std::string id);

  // Returns false if the tenant was set before.
  bool set(const Tenant& tenant) {
    view_.tenant = tenant;
    return !std::exchange(is_set_, true);
  }
  bool is_set() const { return is_set_; }
  void remove() { is_removed_ = true; }
  bool is_removed() const { return is_removed_; }

  const TenantView& view() const { return view_; }
  TenantView& view() { return view_; }  // for changes that do not affect the indexes
  const TenantView* before() const { return before_.get(); }

  // Return false if there is no such object.
  bool remove_plan(const std::string& id);
  bool remove_policy(const std::string& id);

  // The JSON pointers of the faults are relative to the plan or policy. `index`: where it is in Bundle::plans
  // or Bundle::policies.
  Faults put_plan(const Plan& plan, std::size_t index, ProgramPool& programs);
  Faults put_policy(const Policy& policy, std::size_t index, ProgramPool& programs, std::int64_t now_us);

  // Compiles unchanged policies again if the limits of their plan changed. Calls `report` once for each plan (its index
  // in Bundle::plans) whose new limits do not fit all its policies. REQUIRES: called once, after all put functions.
  void renew_policies(ProgramPool& programs, const std::function<void(std::size_t plan, Fault fault)>& report);

  std::optional<std::string> policy_on(const std::string& plan_id) const;  // the id of a policy that uses the plan

  // The `index` of the first policy beyond kMaxUnindexedPolicies.
  std::optional<std::size_t> first_policy_over_limit() const;

  // Updates counts and indexes, and moves the TenantView out of the builder. REQUIRES: called last.
  std::shared_ptr<const TenantView> settle(std::int64_t now_us);

 private:
  using SharedPolicy = std::shared_ptr<const CompiledPolicy>;

  void put_in(SharedPolicy policy);
  void take_out(SharedPolicy policy);
  void count_on_plan(const CompiledPolicy& policy, std::ptrdiff_t difference);
  void settle_plans();
  void renew_scopes();
  void make_dormant(std::int64_t now_us);
  void settle_levels();

  std::shared_ptr<const TenantView> before_;  // nullptr for a new tenant
  TenantView view_;
  bool is_set_ = false;
  bool is_removed_ = false;
  std::vector<SharedPolicy> removed_;  // kept alive until settle() has removed them from the indexes
  std::vector<SharedPolicy> added_;
  std::unordered_map<std::string, std::ptrdiff_t> on_plans_;     // the change of each plan's number of policies
  std::unordered_map<std::string, std::size_t> changed_limits_;  // plans with their index in Bundle::plans
  std::size_t over_limit_ = 0;                                   // for first_policy_over_limit()
};

}  // namespace sluice::policy
