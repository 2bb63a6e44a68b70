// Checks that the organization and the tenants in the body of a token or a binding exist.
//
// Thread safety: none; it works in its caller's transaction.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/json/tree.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::admin {

// Adds a fault for each organization or tenant that does not exist or is outside the caller's scope. The text of the
// fault does not say which of the two is the cause. If the body names tenants but no organization, sets
// `organization_id` to that of the first tenant (by id). Adds a fault for each tenant of another organization. Locks
// the rows that it finds until the end of the transaction.
void check_scope(postgres::Transaction& tx, const json::Value& body, std::string& organization_id,
                 const std::vector<std::string>& tenant_ids, Faults& faults);

}  // namespace sluice::server::admin
