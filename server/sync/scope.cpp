#include "server/sync/scope.hpp"

#include <algorithm>

namespace sluice::server::sync {

bool SyncScope::contains(std::string_view organization, std::string_view tenant) const {
  if (is_platform()) return true;
  if (organization.empty()) return tenant.empty();
  // A tenant's id may move to another organization; this scope must not see the new owner's objects.
  if (organization != organization_id) return false;
  return tenant.empty() || tenant_ids.empty() || std::ranges::binary_search(tenant_ids, tenant);
}

}  // namespace sluice::server::sync
