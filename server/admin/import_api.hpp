// The route that imports the configuration of another limiter.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// POST import?from=&tenant_id=&dry_run= with the text: makes policies of it, and applies them as POST apply does.
// Answers as apply, with {"bundle","notes":[{"line","what","why","instead"}],"dimensions"}. A fault of the text is 422,
// with its line.
Answer import_text(Context& context);

}  // namespace sluice::server::admin
