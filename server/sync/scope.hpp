// The scope of an agent: the platform, an organization, or some of an organization's tenants; and whether the agent
// reads the fields that are newer than its release.
//
// Every object belongs to a pair (organization, tenant): the settings to ("", ""), an organization to (its id, "").
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
  bool newer_fields = true;             // false: objects go without them (older_agents.hpp)

  static SyncScope of(const AgentCaller& caller, bool newer_fields = true) {
    return {caller.organization_id, caller.tenant_ids, newer_fields};
  }

  bool is_platform() const { return organization_id.empty() && tenant_ids.empty(); }
  // The settings are in every scope.
  bool contains(std::string_view organization, std::string_view tenant) const;

  auto operator<=>(const SyncScope&) const = default;
  bool operator==(const SyncScope&) const = default;
};

}  // namespace sluice::server::sync
