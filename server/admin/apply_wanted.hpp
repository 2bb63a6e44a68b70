// Turns a bundle into the rows that POST /v1/admin/apply should store, and checks that the caller may write them.
//
// Thread safety: none; a WantedState belongs to one call.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/admin/bundle_body.hpp"
#include "server/admin/call.hpp"
#include "server/store/bulk.hpp"

namespace sluice::server::admin {

// The key of an object in maps of one kind: "tenant/id".
inline std::string map_key(std::string_view tenant_id, std::string_view id) {
  return std::string(tenant_id).append("/").append(id);
}
inline std::string map_key(const ObjectId& key) { return map_key(key.tenant_id, key.id); }

struct ApplyOptions {
  bool dry_run = false;         // find all faults and changes, but store nothing
  bool prune = false;           // also remove objects that the bundle does not contain: see plan_apply()
  std::string organization_id;  // the bundle is limited to this organization; "": not limited
};

// The rows that the bundle asks for.
class WantedState {
 public:
  // The rows of one kind, in the order of the bundle's list.
  std::vector<store::RowDraft>& of(Kind kind) { return rows_[static_cast<std::size_t>(kind)]; }
  const std::vector<store::RowDraft>& of(Kind kind) const { return rows_[static_cast<std::size_t>(kind)]; }

  std::vector<std::string> tenant_ids;  // of the bundle's tenants
  std::optional<std::string> setting;   // the new document with the global mode; nullopt: no change

 private:
  std::array<std::vector<store::RowDraft>, kKinds> rows_;
};

// Refuses objects that the caller may not create, change or see, and objects that would move to another owner. A
// refusal lists all faults of the mode, the organizations and the tenants. If those have no faults, it lists all faults
// of the other objects.
//
// In the bundle, a tenant may have no organization_id. A stored tenant then keeps its organization. A new tenant gets
// the organization that the call names, else that of the token, else the bundle's only organization.
WantedState wanted_state(Context& context, const BundleBody& body, const ApplyOptions& options);

}  // namespace sluice::server::admin
