// The store as a bundle: documents are stored in canonical form, and so they are put together as they are.
//
// Thread safety: none; it works in its caller's transaction and scope.
#pragma once

#include <string>

#include "server/postgres/transaction.hpp"

namespace sluice::server::admin {

// What of the store is wanted.
struct BundlePart {
  std::string organization_id;  // "": all there is in scope
  std::string tenant_id;        // "": all of the organization; else organization_id is its own
  bool keys = true;
  bool overrides = false;
};

// One object a line; every kind that is wanted has its list, also where it is empty. Policies have the store's version.
// Refuses what would be larger than a bundle may be.
std::string bundle_text(postgres::Transaction& tx, const BundlePart& part);

}  // namespace sluice::server::admin
