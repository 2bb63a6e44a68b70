// What refers to an object, and so keeps it from being deleted.
#pragma once

#include "server/postgres/transaction.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {

// Refuses 409 where something refers to the object, naming up to 20 of them.
void refuse_referenced(postgres::Transaction& tx, const store::ObjectKey& key);

}  // namespace sluice::server::admin
