// How many values a label may have whose values come from administrators, so that a scrape stays small. Whatever is
// beyond shares the value `other`, so no count is lost.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace sluice::telemetry {

inline constexpr std::size_t kMaxTenants = 2'000;
inline constexpr std::size_t kMaxPolicies = 200;  // of all tenants together
inline constexpr std::string_view kOther = "other";

inline constexpr const char* kAboutTenant = "the tenant's id; `other` from the 2,001st tenant on";
inline constexpr const char* kAboutTenantOrNone =
    "the tenant's id; empty where no tenant was known; `other` from the 2,001st tenant on";
inline constexpr const char* kAboutPolicy =
    "only with `--metrics-policy-label`: the policy's id; `other` from the 201st policy on";

// Not thread-safe.
class TenantValues {
 public:
  // The value of the label `tenant`. Each new tenant gets a value of its own until there are kMaxTenants.
  std::string_view value_of(std::string_view tenant) {
    if (tenant.empty() || tenants_.contains(tenant)) return tenant;
    if (tenants_.size() == kMaxTenants) return kOther;
    tenants_.emplace(tenant);
    return tenant;
  }

 private:
  std::set<std::string, std::less<>> tenants_;
};

}  // namespace sluice::telemetry
