// Finds the counter keys whose overrides a transaction of the admin API changed. The transaction may have changed the
// overrides themselves, or the policies and plans that the overrides belong to.
#pragma once

#include <cstdint>
#include <vector>

#include "server/counters/rules.hpp"
#include "server/postgres/transaction.hpp"
#include "server/store/change_log.hpp"

namespace sluice::server::counters {

// Returns each counter key once. Uses the compiled rules in `known` again, and adds those that it compiles. REQUIRES:
// the changes are written to the tables. Throws RulesFault and what libpqxx throws.
std::vector<CounterRef> affected_counters(postgres::Transaction& tx, const std::vector<store::Change>& changes,
                                          std::int64_t now_us, std::vector<RulesPtr>& known);

}  // namespace sluice::server::counters
