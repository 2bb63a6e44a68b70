// What a bundle asks for, as rows of the store, and whether the caller may ask for it.
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

// A key of an object within its kind, for maps.
inline std::string place_of(std::string_view tenant_id, std::string_view id) {
  return std::string(tenant_id).append("/").append(id);
}
inline std::string place_of(const store::ObjectKey& key) { return place_of(key.tenant_id, key.id); }

struct ApplyOptions {
  bool dry_run = false;
  bool prune = false;
  std::string organization_id;  // the bundle is about this one only; "": about what it names
};

class WantedState {
 public:
  // By kind, in the order of the bundle's lists.
  std::vector<store::RowDraft>& of(Kind kind) { return rows_[static_cast<std::size_t>(kind)]; }
  const std::vector<store::RowDraft>& of(Kind kind) const { return rows_[static_cast<std::size_t>(kind)]; }

  std::vector<std::string> tenant_ids;
  std::optional<std::string> setting;  // the document of the global setting, where it shall change

 private:
  std::array<std::vector<store::RowDraft>, kKinds> rows_;
};

// Refuses, naming all faults at once: what only others may found, change or see; what would move to another owner. A
// tenant that does not name its organization stays where it is, else it is of the call's, the token's, or the bundle's
// only one.
WantedState wanted_by(Context& context, const BundleBody& body, const ApplyOptions& options);

}  // namespace sluice::server::admin
