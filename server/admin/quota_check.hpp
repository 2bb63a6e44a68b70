// Refuses calls after which an organization or a tenant would store more than its quotas allow.
#pragma once

#include "server/postgres/transaction.hpp"
#include "server/store/change_log.hpp"

namespace sluice::server::admin {

// Refuses 409 with the quota, its limit and the use. Judges only what the changes increase, so a call may delete and
// shrink while its tenant is above a quota. REQUIRES: the changes are written, and not yet recorded.
//
// Locks the audit heads of the changed organizations: of two calls at the edge of a quota, one wins.
void check_quotas(postgres::Transaction& tx, const store::ChangeLog& log);

}  // namespace sluice::server::admin
