// How far an agent token reaches: the platform, an organization, or some tenants of one.
//
// Everything an agent may be told of stands at a place: the settings above all organizations ("", ""), an organization
// (its id, ""), a tenant and what belongs to it (the organization's id, the tenant's).
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
  std::vector<std::string> tenant_ids;  // sorted; none: all of the organization

  static SyncScope of(const AgentCaller& caller) { return {caller.organization_id, caller.tenant_ids}; }

  bool whole() const { return organization_id.empty() && tenant_ids.empty(); }
  // Is what stands at this place within the scope? The settings are within each.
  bool reaches(std::string_view organization, std::string_view tenant) const;

  auto operator<=>(const SyncScope&) const = default;
  bool operator==(const SyncScope&) const = default;
};

}  // namespace sluice::server::sync
