// What refers to an object, and so keeps it from being deleted.
#pragma once

#include "server/postgres/transaction.hpp"
#include "server/store/objects.hpp"

namespace sluice::server {

// Refuses 409 where something refers to the object, naming up to 20 of them.
void refuse_referenced(Transaction& tx, const ObjectKey& key);

}  // namespace sluice::server
