// Keeps an object from being deleted while other objects refer to it.
#pragma once

#include "server/postgres/transaction.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {

// Throws a Refusal (409) if other objects refer to the object `key`, and names up to 20 of them.
void refuse_referenced(postgres::Transaction& tx, const ObjectId& key);

}  // namespace sluice::server::admin
