#include "server/fleet/fair_share.hpp"

namespace sluice::server::fleet {

bool FairShare::fits(const ShareOwner& owner, std::size_t count) const {
  if (used_ + count > places_) return false;
  const std::size_t free = places_ - used_ - count;
  const auto organization = organizations_.find(owner.organization_id);
  const std::size_t by_organization = count + (organization == organizations_.end() ? 0 : organization->second.used);
  return by_organization <= free && count + used_by(owner) <= free - by_organization;
}

void FairShare::add(const ShareOwner& owner, std::size_t count) {
  if (count == 0) return;
  Organization& organization = organizations_[owner.organization_id];
  organization.used += count;
  organization.by_scope[owner.scope] += count;
  used_ += count;
}

void FairShare::remove(const ShareOwner& owner, std::size_t count) {
  if (count == 0) return;
  const auto organization = organizations_.find(owner.organization_id);
  if (organization == organizations_.end()) return;
  const auto scope = organization->second.by_scope.find(owner.scope);
  if (scope == organization->second.by_scope.end()) return;
  if ((scope->second -= count) == 0) organization->second.by_scope.erase(scope);
  if ((organization->second.used -= count) == 0) organizations_.erase(organization);
  used_ -= count;
}

std::size_t FairShare::used_by(const ShareOwner& owner) const {
  const auto organization = organizations_.find(owner.organization_id);
  if (organization == organizations_.end()) return 0;
  const auto scope = organization->second.by_scope.find(owner.scope);
  return scope == organization->second.by_scope.end() ? 0 : scope->second;
}

}  // namespace sluice::server::fleet
