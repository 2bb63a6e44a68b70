// Whether what a document says of its holder's reach is there: the organization and the tenants of tokens and bindings.
//
// Thread safety: none; works in its caller's transaction.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/json/tree.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::admin {

// Adds a fault for each place that is not there; what is beyond the caller's scope looks the same. Tenants without an
// organization say it: they are all of one. Locks what it finds, so that it stays until the end of the transaction.
void check_places(postgres::Transaction& tx, const json::Value& body, std::string& organization_id,
                  const std::vector<std::string>& tenant_ids, Faults& faults);

}  // namespace sluice::server::admin
