// Writes stored objects as the text of a bundle, for export and explain. Documents are stored in canonical form, so
// they are copied unchanged.
//
// Thread safety: none; it works in its caller's transaction and scope.
#pragma once

#include <string>

#include "server/postgres/transaction.hpp"

namespace sluice::server::admin {

// Which stored objects to write.
struct BundleSelection {
  std::string organization_id;  // "": all organizations in the transaction's scope
  std::string tenant_id;        // "": all tenants; else organization_id is the tenant's organization
  bool keys = true;
  bool overrides = false;
};

// Writes one object per line. Every selected kind has a list, even an empty one. Policies have their stored version.
// Refuses 422 if the text would be larger than json::kMaxBytes.
std::string bundle_text(postgres::Transaction& tx, const BundleSelection& part);

}  // namespace sluice::server::admin
