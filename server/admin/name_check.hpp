// Refuses calls that give a plan or a policy the name of another one of its tenant.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "server/postgres/transaction.hpp"
#include "server/store/bulk.hpp"
#include "server/store/change_log.hpp"

namespace sluice::server::admin {

// The plans and policies that the changes wrote, and whose name another object of the same kind and tenant has too.
// Names are compared byte by byte. Objects without a name never collide. A change of only `rollout_percent` is not
// judged: whoever must take back a rollout does not have to rename a policy first. REQUIRES: the changes are written,
// and not yet recorded.
//
// Locks the audit heads of the changed organizations: of two calls that write one name, one wins.
std::vector<store::SharedName> shared_names(postgres::Transaction& tx, const store::ChangeLog& log);

// Says which object has the name.
Fault name_fault(const store::SharedName& shared, std::string pointer);
[[noreturn]] void refuse_names(Faults faults);  // 409

// Refuses 409 with the pointer /name.
void check_names(postgres::Transaction& tx, const store::ChangeLog& log);

}  // namespace sluice::server::admin
