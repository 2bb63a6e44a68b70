// The objects of a bundle one by one, as they travel between server and agents: each is the text of one element of the
// bundle's lists, and is known by its kind, tenant and id.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/domain/bundle.hpp"

namespace sluice {

// `settings` is what stands at the top of a bundle: {"mode":…}.
enum class ObjectKind : std::uint8_t { settings, organization, tenant, plan, policy, key };

std::string_view to_string(ObjectKind kind);  // "policy"
std::optional<ObjectKind> object_kind_from(std::string_view text);
// "policies": how the bundle's list is called; "" of settings.
std::string_view list_name(ObjectKind kind);

struct ObjectName {
  ObjectKind kind = ObjectKind::settings;
  std::string tenant_id;  // of plans, policies and keys; else ""
  std::string id;         // "" of settings
  bool operator==(const ObjectName&) const = default;
};

// Reads `document`, appends the object to its list in `out` (settings: changes its mode). Checks what can be seen in
// the object alone: form, ranges, and that it is the one that `name` says; not what it refers to, nor match_expr.
// Faults: pointers begin at the object; nothing was appended then.
Faults read_object(const ObjectName& name, std::string_view document, Bundle& out);

}  // namespace sluice
