// Overrides. Beyond what every kind has: `ttl` in place of `expires_at`, "published" in every answer (Redis has it),
// and clear.
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

// Refuses 503 where the server runs without Redis, which overrides and counters need.
counters::Publisher& require_publisher(Context& context);

}  // namespace sluice::server::admin
