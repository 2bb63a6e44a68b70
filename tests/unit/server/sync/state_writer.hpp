// StateWriter for tests: a history of edits, written down as the feed would.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "server/sync/sync_state.hpp"

namespace sluice::server::test {

inline sluice::sync::Position at(std::int64_t revision) {
  return {.revision = revision, .chain = fmt::format("{:064x}", revision + 1)};
}

inline ObjectId policy_of(std::string_view tenant, std::string_view id) {
  return {.kind = Kind::policy, .tenant_id = std::string(tenant), .id = std::string(id)};
}

// Organization acme has the tenants shop and lab, globex has mill; each tenant has a policy p.
class StateWriter {
 public:
  StateWriter() {
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
    state.objects = state.objects.with(std::move(edits));
    state.owners = std::move(owners);
    state.epoch = state.sequence = 1;
  }

  // One revision that writes an object, or removes it where there is no document.
  StateWriter& write(std::string_view organization, const ObjectId& id, std::string_view document,
                     std::string_view trace = "") {
    std::vector<sluice::sync::Edit> edits;
    if (document.empty()) {
      edits.push_back(sluice::sync::Edit::removal(id.view()));
    } else {
      edits.emplace_back(sluice::sync::make_object(id.view(), document));
    }
    state.objects = state.objects.with(std::move(edits));
    state.history.append({.at = at(state.head().revision + 1),
                          .objects = {{id, std::string(organization)}},
                          .traceparent = std::string(trace)});
    ++state.sequence;
    return *this;
  }

  // Nothing that agents are told of: a token, an override.
  StateWriter& write_unsynced() {
    state.history.append({.at = at(state.head().revision + 1), .objects = {}});
    ++state.sequence;
    return *this;
  }

  void give(std::string_view tenant, std::string_view organization) {
    auto owners = std::make_shared<sync::TenantOwners>(*state.owners);
    owners->insert_or_assign(std::string(tenant), std::string(organization));
    state.owners = std::move(owners);
  }

  sync::SyncState state{sync::History(at(0))};
};

inline const sync::SyncScope kPlatform{};
inline const sync::SyncScope kAcme{.organization_id = "acme", .tenant_ids = {}};
inline const sync::SyncScope kGlobex{.organization_id = "globex", .tenant_ids = {}};
inline const sync::SyncScope kShop{.organization_id = "acme", .tenant_ids = {"shop"}};

}  // namespace sluice::server::test
