// Overrides whose time is over: Redis forgets them by itself; their rows are removed here, as a change like any other.
#pragma once

#include <cstddef>

#include "server/postgres/transaction.hpp"

namespace sluice::server::counters {

// At most `most` of them; the caller commits. How many were removed. Throws what libpqxx throws.
std::size_t remove_expired(postgres::Transaction& tx, std::size_t most);

}  // namespace sluice::server::counters
