// Turns a bundle into the rows that POST /v1/admin/apply should store, and checks that the caller may write them.
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

// The key of an object in a map whose objects have the same kind.
inline std::string map_key(std::string_view tenant_id, std::string_view id) {
  return std::string(tenant_id).append("/").append(id);
}
inline std::string map_key(const ObjectId& key) { return map_key(key.tenant_id, key.id); }

struct ApplyOptions {
  bool dry_run = false;
  bool prune = false;           // also remove objects that the bundle does not contain (see plan_apply())
  std::string organization_id;  // if set, the bundle may not contain tenants of other organizations
};

class WantedState {
 public:
  // Rows in the order of the bundle's list.
  std::vector<store::RowDraft>& of(Kind kind) { return rows_[static_cast<std::size_t>(kind)]; }
  const std::vector<store::RowDraft>& of(Kind kind) const { return rows_[static_cast<std::size_t>(kind)]; }

  std::vector<std::string> tenant_ids;
  std::optional<std::string> setting;  // the new document with the global mode, if the mode changes

 private:
  std::array<std::vector<store::RowDraft>, kKinds> rows_;
};

// Refuses objects that the caller may not create, change or see, and objects that would move to another owner.
//
// Without an organization_id in the bundle, a stored tenant keeps its organization. A new tenant gets the organization
// that the call names, else the token's organization, else the bundle's only organization.
WantedState wanted_state(Context& context, const BundleBody& body, const ApplyOptions& options);

}  // namespace sluice::server::admin
