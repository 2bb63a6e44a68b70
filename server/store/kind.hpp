// The kinds of objects, and what the store must know of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::server::store {

// In the order in which a transaction locks rows: what refers comes before what it refers to. A counter is in Redis and
// has no row; each time it is reset is an object of its own to versions, changes and audit.
enum class Kind : std::uint8_t {
  override_,
  policy,
  plan,
  key,
  binding,
  agent_token,
  token,
  tenant,
  organization,
  setting,
  counter
};

inline constexpr std::size_t kKinds = 11;

struct KindInfo {
  std::string_view name;   // "policy": in versions, changes, audit and texts
  std::string_view table;  // "policies"
  bool in_tenant = false;  // it belongs to a tenant
  bool local_id = false;   // its id is unique within its tenant only
};

const KindInfo& info(Kind kind);
std::optional<Kind> kind_from(std::string_view name);
std::string kind_names();  // "override, policy, …"

// A new id: "key-3f9a0c41d2e7".
std::string random_id(Kind kind);

}  // namespace sluice::server::store
