// Writes stored objects as the text of a bundle, for export and explain. Documents are copied as they are stored; only
// policies get the member `version`, unless the version is 1.
#pragma once

#include <string>

#include "server/http/request_memory.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::admin {

// Which stored objects to write. (This is not the selection of a policy.)
struct BundleSelection {
  std::string organization_id;  // "" stands for all organizations in the transaction's scope
  std::string tenant_id;        // "" stands for all tenants. REQUIRES: the tenant belongs to organization_id
  bool keys = true;
  bool overrides = false;
};

// The bundle has a list for every selected kind, even if the list is empty. Leaves out expired overrides. Refuses 422
// if the text would be larger than json::kMaxBytes.
std::string bundle_text(postgres::Transaction& tx, const BundleSelection& part, http::RequestMemory::Share& memory);

}  // namespace sluice::server::admin
