// Keeps an object from being deleted while other objects refer to it.
#pragma once

#include "server/postgres/transaction.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {

// The refusal has status 409 and names up to 20 of the objects.
void refuse_referenced(postgres::Transaction& tx, const ObjectId& key);

}  // namespace sluice::server::admin
