// Checks that the organization and the tenants exist that a token or a binding names.
//
// Thread safety: none; works in its caller's transaction.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/json/tree.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::admin {

// Adds a fault for each that does not exist or is beyond the caller's scope, without telling which. If only tenants are
// named, their organization is filled in. Locks what it finds until the end of the transaction.
void check_places(postgres::Transaction& tx, const json::Value& body, std::string& organization_id,
                  const std::vector<std::string>& tenant_ids, Faults& faults);

}  // namespace sluice::server::admin
