// A tenant on its way from one snapshot to the next: its plans and policies are put in and taken out, then settle()
// brings its indexes up to date. What is not touched stays shared with the tenant it was.
//
// Thread safety: none; belongs to one draft of a snapshot.
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

class TenantDraft {
 public:
  // Of a tenant as it is.
  explicit TenantDraft(std::shared_ptr<const TenantView> before) : before_(std::move(before)), view_(*before_) {}
  // Of a new one.
  explicit TenantDraft(std::string id);

  // False where it was set already.
  bool set(const Tenant& tenant) {
    view_.tenant = tenant;
    return !std::exchange(is_set_, true);
  }
  bool is_set() const { return is_set_; }
  void remove() { is_removed_ = true; }
  bool is_removed() const { return is_removed_; }

  const TenantView& view() const { return view_; }
  const TenantView* before() const { return before_.get(); }
  void count_keys(std::ptrdiff_t difference) { view_.keys += static_cast<std::size_t>(difference); }

  // False where there is none.
  bool remove_plan(const std::string& id);
  bool remove_policy(const std::string& id);

  // New, or in place of the one it was before. Faults' pointers begin at the object. `index`: of the object in the
  // delta's list.
  Faults put_plan(const Plan& plan, std::size_t index, ProgramPool& programs);
  Faults put_policy(const Policy& policy, std::size_t index, ProgramPool& programs, std::int64_t now_us);

  // Policies that stay as they are while the limits of their plan changed get the new ones. One policy that these do
  // not fit is told of, with the index of the plan. Once, after everything was put.
  void renew_policies(ProgramPool& programs, const std::function<void(std::size_t plan, Fault fault)>& report);

  // Of a plan that was removed: a policy that is on it still.
  std::optional<std::string> policy_on(const std::string& plan_id) const;

  // The policy, by its index, that is one more without an indexable dimension than a tenant may have.
  std::optional<std::size_t> one_too_many() const;

  std::shared_ptr<const TenantView> settle(std::int64_t now_us);

 private:
  using SharedPolicy = std::shared_ptr<const CompiledPolicy>;

  void put_in(SharedPolicy policy);
  void take_out(SharedPolicy policy);
  void count_on_plan(const CompiledPolicy& policy, std::ptrdiff_t difference);
  void settle_plans();
  void put_to_sleep(std::int64_t now_us);
  void settle_levels();

  std::shared_ptr<const TenantView> before_;  // null: it is new
  TenantView view_;
  bool is_set_ = false;
  bool is_removed_ = false;
  std::vector<SharedPolicy> removed_;  // from the indexes: kept until these are changed
  std::vector<SharedPolicy> added_;
  std::unordered_map<std::string, std::ptrdiff_t> on_plans_;     // how many policies more
  std::unordered_map<std::string, std::size_t> changed_limits_;  // plan → its index
  std::size_t exceeding_ = 0;                                    // the policy that was one too many, by its index
};

}  // namespace sluice::policy
