// Routes of overrides. A body may have `ttl` instead of `expires_at`. Every answer says in `published` whether Redis
// has the override.
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

// Refuses the call with 503 if the server runs without Redis.
counters::Publisher& require_publisher(Context& context);

}  // namespace sluice::server::admin
