// The kinds of object, in one table.
//
// Thread safety: constants.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

// The order in which bundles are read and agents receive objects: an object comes after the objects it refers to.
// `setting`: the settings of the platform. `counter`: a reset of counters. The tables `versions`, `changes` and `audit`
// store resets, but the kind has no SQL table of its own. `quota`: the quotas of an organization or a tenant; the id is
// that of the organization or tenant. `session`: somebody who signed in by OpenID Connect, for the same three tables:
// the first version is the sign-in, the second the sign-out.
enum class Kind : std::uint8_t {
  setting,
  organization,
  tenant,
  plan,
  policy,
  key,
  override_,
  token,
  agent_token,
  binding,
  quota,
  counter,
  webhook,
  group_mapping,
  session
};

// `holder`: for tokens, bindings and group mappings. The scope in such an object says what the object belongs to.
enum class Ownership : std::uint8_t { platform, organization, tenant, holder };

struct Reference {
  Kind to;
  std::string_view member;  // of the document; also the name of the SQL column
  bool list = false;
};

struct KindInfo {
  Kind kind;
  std::string_view name;       // such as "policy": in messages, and in the tables versions, changes and audit
  std::string_view plural;     // such as "policies": name of the SQL table and of the list in bundles; "": no table
  std::string_view sync_name;  // in snapshots for agents; "": agents do not get this kind
  Ownership owner;
  bool local_id;       // an id is unique only within its tenant
  bool in_bundle;      // bundles have a list of this kind
  unsigned lock_rank;  // a transaction locks rows in ascending order
  std::span<const Reference> references;

  constexpr std::string_view table() const { return plural; }
  constexpr bool in_tenant() const { return owner == Ownership::tenant; }
  constexpr bool to_agents() const { return !sync_name.empty(); }
};

namespace kinds {

inline constexpr std::array kOfTenant{Reference{Kind::organization, "organization_id"}};
inline constexpr std::array kInTenant{Reference{Kind::tenant, "tenant_id"}};
inline constexpr std::array kOfPolicy{Reference{Kind::tenant, "tenant_id"}, Reference{Kind::plan, "plan_id"}};
inline constexpr std::array kOfOverride{Reference{Kind::tenant, "tenant_id"}, Reference{Kind::plan, "plan_id"},
                                        Reference{Kind::policy, "policy_id"}};
inline constexpr std::array kOfHolder{Reference{Kind::organization, "organization_id"},
                                      Reference{.to = Kind::tenant, .member = "tenant_ids", .list = true}};

// clang-format off
inline constexpr std::array kTable{
    // kind, name, plural, sync_name, owner, local_id, in_bundle, lock_rank, references
    KindInfo{Kind::setting, "setting", "settings", "settings", Ownership::platform, false, false, 11, {}},
    KindInfo{Kind::organization, "organization", "organizations", "organization", Ownership::platform, false, true, 10, {}},
    KindInfo{Kind::tenant, "tenant", "tenants", "tenant", Ownership::organization, false, true, 9, kOfTenant},
    KindInfo{Kind::plan, "plan", "plans", "plan", Ownership::tenant, true, true, 2, kInTenant},
    KindInfo{Kind::policy, "policy", "policies", "policy", Ownership::tenant, true, true, 1, kOfPolicy},
    KindInfo{Kind::key, "key", "keys", "key", Ownership::tenant, false, true, 3, kInTenant},
    KindInfo{Kind::override_, "override", "overrides", "", Ownership::tenant, true, true, 0, kOfOverride},
    KindInfo{Kind::token, "token", "tokens", "", Ownership::holder, false, false, 6, kOfHolder},
    KindInfo{Kind::agent_token, "agent-token", "agent_tokens", "", Ownership::holder, false, false, 5, kOfHolder},
    KindInfo{Kind::binding, "binding", "bindings", "", Ownership::holder, false, false, 4, kOfHolder},
    KindInfo{Kind::quota, "quota", "quotas", "", Ownership::platform, true, false, 12, {}},
    KindInfo{Kind::counter, "counter", "", "", Ownership::tenant, true, false, 13, {}},
    KindInfo{Kind::webhook, "webhook", "webhooks", "", Ownership::tenant, true, false, 7, kInTenant},
    KindInfo{Kind::group_mapping, "group-mapping", "group_mappings", "", Ownership::holder, false, false, 8, kOfHolder},
    KindInfo{Kind::session, "session", "", "", Ownership::platform, false, false, 14, {}},
};
// clang-format on

}  // namespace kinds

inline constexpr std::size_t kKinds = kinds::kTable.size();

constexpr const KindInfo& info(Kind kind) { return kinds::kTable[static_cast<std::size_t>(kind)]; }

inline constexpr std::array<Kind, kKinds> kAllKinds = [] {
  std::array<Kind, kKinds> all;
  for (std::size_t i = 0; i < kKinds; ++i) all[i] = static_cast<Kind>(i);
  return all;
}();
static_assert(std::ranges::all_of(kAllKinds, [](Kind kind) { return info(kind).kind == kind; }),
              "the rows of the table stand in the order of Kind");

// All kinds by lock_rank.
std::span<const Kind> lock_order();

std::optional<Kind> kind_from(std::string_view name);
std::optional<Kind> synced_kind_from(std::string_view sync_name);
std::string kind_names();         // "override, policy, …", in lock order
std::string_view synced_names();  // "settings, organization, …"

}  // namespace sluice
