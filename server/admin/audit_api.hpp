// Who changed what, and how far it has come.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// The audit trail in scope, newest first.
Answer list_audit(Context& context);

// The newest revision and the chain that names its history.
Answer get_revision(Context& context);

}  // namespace sluice::server::admin
