#include "server/sync/scope.hpp"

#include <algorithm>

namespace sluice::server::sync {

bool SyncScope::reaches(std::string_view organization, std::string_view tenant) const {
  if (whole()) return true;
  if (organization.empty()) return tenant.empty();
  // A tenant's id may pass to another organization, and must not take its new owner's objects along.
  if (organization != organization_id) return false;
  return tenant.empty() || tenant_ids.empty() || std::ranges::binary_search(tenant_ids, tenant);
}

}  // namespace sluice::server::sync
