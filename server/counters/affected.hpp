// Which counters' overrides a transaction has made other than they were: by its overrides, and by what it did to the
// policies and plans that overrides belong to (a policy that moves to another plan has that plan's overrides).
#pragma once

#include <cstdint>
#include <vector>

#include "server/counters/rules.hpp"
#include "server/postgres/transaction.hpp"
#include "server/store/change_log.hpp"

namespace sluice::server::counters {

// REQUIRES: the changes are in the tables already. Throws what libpqxx and Rules throw.
std::vector<CounterRef> affected_counters(postgres::Transaction& tx, const std::vector<store::Change>& changes,
                                          std::int64_t now_us);

}  // namespace sluice::server::counters
