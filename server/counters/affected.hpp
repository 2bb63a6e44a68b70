// Which counters' overrides a transaction has made other than they were: by its overrides, and by what it did to the
// policies and plans that overrides belong to (a policy that moves to another plan has that plan's overrides).
#pragma once

#include <cstdint>
#include <vector>

#include "server/counters/rules.hpp"
#include "server/postgres/transaction.hpp"
#include "server/store/change_log.hpp"

namespace sluice::server::counters {

// `known`: rules that this transaction has compiled already, used where they are what is needed; those of the state
// after it are added. REQUIRES: the changes are in the tables already. Throws RulesFault and what libpqxx throws.
std::vector<CounterRef> affected_counters(postgres::Transaction& tx, const std::vector<store::Change>& changes,
                                          std::int64_t now_us, std::vector<RulesPtr>& known);

}  // namespace sluice::server::counters
