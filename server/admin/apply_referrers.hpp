// What is not in a bundle and depends on what the bundle changes or removes: it must go on working.
//
// Thread safety: pure but for what it reads.
#pragma once

#include <string>
#include <string_view>

#include "server/admin/apply_plan.hpp"

namespace sluice::server {

// A key of an object within its kind, for maps.
inline std::string place_of(std::string_view tenant_id, std::string_view id) {
  return std::string(tenant_id).append("/").append(id);
}
inline std::string place_of(const ObjectKey& key) { return place_of(key.tenant_id, key.id); }

// Refuses a plan that removes what a policy or an override outside of the bundle refers to, or changes it so that such a
// one would be refused if it came today. REQUIRES: what is to be changed is locked.
void check_referrers(Transaction& tx, const BundleBody& body, const ApplyPlan& plan);

}  // namespace sluice::server
