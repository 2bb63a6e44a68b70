#include "common/objects/kind.hpp"

#include <algorithm>

namespace sluice {
namespace {

constexpr std::array kOfTenant{Reference{Kind::organization, "organization_id"}};
constexpr std::array kInTenant{Reference{Kind::tenant, "tenant_id"}};
constexpr std::array kOfPolicy{Reference{Kind::tenant, "tenant_id"}, Reference{Kind::plan, "plan_id"}};
constexpr std::array kOfOverride{Reference{Kind::tenant, "tenant_id"}, Reference{Kind::plan, "plan_id"},
                                 Reference{Kind::policy, "policy_id"}};
constexpr std::array kOfHolder{Reference{Kind::organization, "organization_id"},
                               Reference{.to = Kind::tenant, .member = "tenant_ids", .list = true}};

// name, plural, sync_name, owner, local_id, in_bundle, lock_rank, references
constexpr std::array<KindInfo, kKinds> kTable{{
    {"setting", "settings", "settings", Ownership::platform, false, false, 9, {}},
    {"organization", "organizations", "organization", Ownership::platform, false, true, 8, {}},
    {"tenant", "tenants", "tenant", Ownership::organization, false, true, 7, kOfTenant},
    {"plan", "plans", "plan", Ownership::tenant, true, true, 2, kInTenant},
    {"policy", "policies", "policy", Ownership::tenant, true, true, 1, kOfPolicy},
    {"key", "keys", "key", Ownership::tenant, false, true, 3, kInTenant},
    {"override", "overrides", "", Ownership::tenant, true, true, 0, kOfOverride},
    {"token", "tokens", "", Ownership::holder, false, false, 6, kOfHolder},
    {"agent-token", "agent_tokens", "", Ownership::holder, false, false, 5, kOfHolder},
    {"binding", "bindings", "", Ownership::holder, false, false, 4, kOfHolder},
    {"counter", "", "", Ownership::tenant, true, false, 10, {}},
}};

constexpr std::array<Kind, kKinds> kLockOrder = [] {
  std::array<Kind, kKinds> order = kAllKinds;
  std::ranges::sort(order, {}, [](Kind kind) { return kTable[static_cast<std::size_t>(kind)].lock_rank; });
  return order;
}();

}  // namespace

const KindInfo& info(Kind kind) { return kTable[static_cast<std::size_t>(kind)]; }

std::span<const Kind> lock_order() { return kLockOrder; }

std::optional<Kind> kind_from(std::string_view name) {
  const auto* const found = std::ranges::find(kAllKinds, name, [](Kind kind) { return info(kind).name; });
  return found == kAllKinds.end() ? std::nullopt : std::optional(*found);
}

std::optional<Kind> synced_kind_from(std::string_view sync_name) {
  if (sync_name.empty()) return std::nullopt;
  const auto* const found = std::ranges::find(kAllKinds, sync_name, [](Kind kind) { return info(kind).sync_name; });
  return found == kAllKinds.end() ? std::nullopt : std::optional(*found);
}

std::string kind_names() {
  std::string names;
  for (const Kind kind : kLockOrder) names.append(names.empty() ? "" : ", ").append(info(kind).name);
  return names;
}

std::string_view synced_names() {
  static const std::string kNames = [] {
    std::string names;
    for (const Kind kind : kAllKinds) {
      if (info(kind).to_agents()) names.append(names.empty() ? "" : ", ").append(info(kind).sync_name);
    }
    return names;
  }();
  return kNames;
}

}  // namespace sluice
