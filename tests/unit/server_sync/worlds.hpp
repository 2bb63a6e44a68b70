// Worlds for tests: a history of edits, written down as the feed would.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "server/sync/world.hpp"

namespace sluice::server::test {

inline sluice::sync::Position at(std::int64_t revision) {
  return {.revision = revision, .chain = fmt::format("{:064x}", revision + 1)};
}

inline ObjectId policy_of(std::string_view tenant, std::string_view id) {
  return {.kind = Kind::policy, .tenant_id = std::string(tenant), .id = std::string(id)};
}

// Organization acme has the tenants shop and lab, globex has mill; each tenant has a policy p.
class Worlds {
 public:
  Worlds() {
    std::vector<sluice::sync::Edit> edits;
    const auto add = [&edits](Kind kind, std::string_view tenant, std::string_view id) {
      edits.emplace_back(sluice::sync::make_object({kind, tenant, id}, fmt::format(R"({{"id":"{}"}})", id)));
    };
    add(Kind::setting, "", "");
    add(Kind::organization, "", "acme");
    add(Kind::organization, "", "globex");
    auto owners = std::make_shared<server::sync::TenantOwners>();
    for (const auto& [tenant, owner] :
         {std::pair("shop", "acme"), std::pair("lab", "acme"), std::pair("mill", "globex")}) {
      add(Kind::tenant, "", tenant);
      add(Kind::policy, tenant, "p");
      owners->emplace(tenant, owner);
    }
    world.objects = world.objects.with(std::move(edits));
    world.owners = std::move(owners);
    world.line = world.number = 1;
  }

  // One revision that writes an object, or removes it where there is no document.
  Worlds& write(std::string_view organization, const ObjectId& id, std::string_view document) {
    std::vector<sluice::sync::Edit> edits;
    if (document.empty()) {
      edits.push_back(sluice::sync::Edit::removal(id.view()));
    } else {
      edits.emplace_back(sluice::sync::make_object(id.view(), document));
    }
    world.objects = world.objects.with(std::move(edits));
    world.history.append({.at = at(world.head().revision + 1), .touched = {{id, std::string(organization)}}});
    ++world.number;
    return *this;
  }

  // Nothing that agents are told of: a token, an override.
  Worlds& pass() {
    world.history.append({.at = at(world.head().revision + 1), .touched = {}});
    ++world.number;
    return *this;
  }

  void give(std::string_view tenant, std::string_view organization) {
    auto owners = std::make_shared<sync::TenantOwners>(*world.owners);
    owners->insert_or_assign(std::string(tenant), std::string(organization));
    world.owners = std::move(owners);
  }

  sync::World world{sync::History(at(0))};
};

inline const sync::SyncScope kPlatform{};
inline const sync::SyncScope kAcme{.organization_id = "acme", .tenant_ids = {}};
inline const sync::SyncScope kGlobex{.organization_id = "globex", .tenant_ids = {}};
inline const sync::SyncScope kShop{.organization_id = "acme", .tenant_ids = {"shop"}};

}  // namespace sluice::server::test
