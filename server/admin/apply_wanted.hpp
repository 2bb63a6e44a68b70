// Turns a bundle into the rows that apply should store, and checks that the caller may write them.
//
// Thread safety: none; it belongs to its call.
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
  bool dry_run = false;
  bool prune = false;
  std::string organization_id;  // the bundle is limited to this organization; "": not limited
};

// The rows that the bundle asks for.
class WantedState {
 public:
  // By kind, in the order of the bundle's lists.
  std::vector<store::RowDraft>& of(Kind kind) { return rows_[static_cast<std::size_t>(kind)]; }
  const std::vector<store::RowDraft>& of(Kind kind) const { return rows_[static_cast<std::size_t>(kind)]; }

  std::vector<std::string> tenant_ids;  // of the bundle's tenants
  std::optional<std::string> setting;   // the new document of the global setting; nullopt: it stays

 private:
  std::array<std::vector<store::RowDraft>, kKinds> rows_;
};

// Refuses objects that the caller may not create, change or see, and objects that would move to another owner. The
// refusal names all faults of the mode, the organizations and the tenants; if there are none, all faults of the other
// objects. If the bundle has a stored tenant without organization_id, the tenant keeps its organization. A new tenant
// without organization_id gets the organization of the call, else of the token, else the bundle's only one.
WantedState wanted_state(Context& context, const BundleBody& body, const ApplyOptions& options);

}  // namespace sluice::server::admin
