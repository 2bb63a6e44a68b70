// Writes stored objects as the text of a bundle, for export and explain. Documents are stored in canonical form, so
// they are copied as they are. Only the document of a policy gets one more member, `version`, unless the version is 1
// (store::bundle_document()).
//
// Thread safety: none; it works in its caller's transaction and scope.
#pragma once

#include <string>

#include "server/postgres/transaction.hpp"

namespace sluice::server::admin {

// Which stored objects to write. (This is not the selection of a policy.)
struct BundleSelection {
  std::string organization_id;  // "": all organizations in the transaction's scope
  std::string tenant_id;        // "": all tenants. If set, REQUIRES: organization_id is its organization
  bool keys = true;
  bool overrides = false;
};

// Writes one object per line. Every selected kind has a list, even an empty one. Leaves out expired overrides. Refuses
// 422 if the text would be larger than json::kMaxBytes.
std::string bundle_text(postgres::Transaction& tx, const BundleSelection& part);

}  // namespace sluice::server::admin
