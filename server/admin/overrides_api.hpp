// Overrides: as every kind, and beyond that a time to live instead of an end, whether Redis knows already ("published"
// in every answer), and clear.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

Answer list_overrides(Context& context);
Answer create_override(Context& context);
Answer get_override(Context& context);
Answer put_override(Context& context);
Answer patch_override(Context& context);
Answer delete_override(Context& context);
// Removes all of a tenant, or of one of its policies or plans, as one revision.
Answer clear_overrides(Context& context);

// Refuses 503 where the server was told of no Redis: nothing of overrides and counters works without.
counters::Publisher& require_publisher(Context& context);

}  // namespace sluice::server::admin
