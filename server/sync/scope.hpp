// The scope of an agent, which limits the objects that it gets: the platform, an organization, or some of an
// organization's tenants.
//
// Every object belongs to a pair (organization, tenant): the settings to ("", ""), an organization to (its id, ""), a
// tenant and its objects to (the organization's id, the tenant's id).
//
// Thread safety: values and pure functions.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "server/sync/fleet_port.hpp"

namespace sluice::server::sync {

struct SyncScope {
  std::string organization_id;          // "": the platform
  std::vector<std::string> tenant_ids;  // sorted; empty: all tenants of the organization

  static SyncScope of(const AgentCaller& caller) { return {caller.organization_id, caller.tenant_ids}; }

  // Whether the scope is the whole platform.
  bool is_platform() const { return organization_id.empty() && tenant_ids.empty(); }
  // Whether objects of this pair are in the scope. The settings are in every scope.
  bool contains(std::string_view organization, std::string_view tenant) const;

  auto operator<=>(const SyncScope&) const = default;
  bool operator==(const SyncScope&) const = default;
};

}  // namespace sluice::server::sync
