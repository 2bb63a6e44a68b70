// Keeps an object from being deleted while other objects refer to it.
#pragma once

#include "server/postgres/transaction.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {

// Refuses 409 if other objects refer to this one. The refusal names up to 20 of them.
void refuse_referenced(postgres::Transaction& tx, const ObjectId& key);

}  // namespace sluice::server::admin
