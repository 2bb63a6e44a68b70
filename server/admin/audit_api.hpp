// Routes of the audit trail and of the newest revision.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// The entries of the audit trail in the caller's scope, newest first.
Answer list_audit(Context& context);

// Verifies some rows of the audit trail, and says how to go on (server/audit/steps.hpp).
Answer verify_audit(Context& context);

Answer get_revision(Context& context);

}  // namespace sluice::server::admin
