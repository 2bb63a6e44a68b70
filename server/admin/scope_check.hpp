// Checks that the organization and the tenants in the body of a token, a binding or a group mapping exist.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/json/tree.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::admin {

// Sets an empty `organization_id` to the organization of the first tenant (by id) of `tenant_ids` that exists. Adds a
// fault for each organization or tenant that does not exist or is outside the caller's scope, and for each tenant of
// another organization. Locks the rows of the tenants and the organization until the end of the transaction.
void check_scope(postgres::Transaction& tx, const json::Value& body, std::string& organization_id,
                 const std::vector<std::string>& tenant_ids, Faults& faults);

}  // namespace sluice::server::admin
