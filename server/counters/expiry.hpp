// Removes the rows of expired overrides, and records that as a change. Redis ignores expired overrides by itself.
#pragma once

#include <cstddef>

#include "server/postgres/transaction.hpp"

namespace sluice::server::counters {

// Removes at most `limit` overrides and returns how many. Does not commit. Throws what libpqxx throws.
std::size_t remove_expired(postgres::Transaction& tx, std::size_t limit);

}  // namespace sluice::server::counters
