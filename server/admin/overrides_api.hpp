// Routes of overrides. Three things are different from the routes of other kinds. A body may have `ttl` instead of
// `expires_at`. Every answer says in "published" whether Redis has the override. And `clear` removes many overrides.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

Answer list_overrides(Context& context);
Answer create_override(Context& context);
Answer get_override(Context& context);
Answer put_override(Context& context);
Answer patch_override(Context& context);
Answer delete_override(Context& context);
// Removes all overrides of a tenant, a policy or a plan, as one revision.
Answer clear_overrides(Context& context);

// Returns the publisher. Refuses 503 if the server runs without Redis, which overrides and counters need.
counters::Publisher& require_publisher(Context& context);

}  // namespace sluice::server::admin
