// The kinds of object: one table says of each what it is called, who may have it, and what it refers to.
//
// Thread safety: the table is constant.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

// An object comes behind what it refers to: so a bundle is read, and so objects are ordered on their way to agents.
// `setting`: the settings of the whole platform, of which there is one object. A counter is in Redis and has no row;
// each reset is an object of its own to versions, changes and audit.
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
  counter
};
inline constexpr std::size_t kKinds = 11;

// Whom an object belongs to. A holder's reach is the platform, an organization, or some of its tenants.
enum class Ownership : std::uint8_t { platform, organization, tenant, holder };

// A member that names objects of another kind: "plan_id", or the list "tenant_ids".
struct Reference {
  Kind to;
  std::string_view member;  // in the document, and the column of the table
  bool list = false;
};

struct KindInfo {
  std::string_view name;       // "policy": in versions, changes, audit and messages
  std::string_view plural;     // "policies": the SQL table, and the list in a bundle; "" where there is neither
  std::string_view sync_name;  // in snapshots for agents; "" where agents do not get it
  Ownership owner;
  bool local_id;       // its id is unique within its tenant only
  bool in_bundle;      // bundles have a list of it
  unsigned lock_rank;  // a transaction locks rows in ascending order: what refers comes before what it refers to
  std::span<const Reference> references;

  std::string_view table() const { return plural; }
  bool in_tenant() const { return owner == Ownership::tenant; }
  bool to_agents() const { return !sync_name.empty(); }
};

const KindInfo& info(Kind kind);

inline constexpr std::array kAllKinds{Kind::setting,     Kind::organization, Kind::tenant,    Kind::plan,
                                      Kind::policy,      Kind::key,          Kind::override_, Kind::token,
                                      Kind::agent_token, Kind::binding,      Kind::counter};
static_assert(kAllKinds.size() == kKinds);

// All kinds in the order in which rows are locked.
std::span<const Kind> lock_order();

std::optional<Kind> kind_from(std::string_view name);
std::optional<Kind> synced_kind_from(std::string_view sync_name);
std::string kind_names();         // "override, policy, …", in lock order
std::string_view synced_names();  // "settings, organization, …"

}  // namespace sluice
