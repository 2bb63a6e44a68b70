// Modes: whether limits are enforced, only watched (shadow), or off; for the whole installation, and for each tenant.
// Of both and of the policy's own, off beats shadow beats enforce.
//
// A tenant's mode is a member of its document: what changes it here is a change of the tenant, with its version and
// ETag.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// The global mode, and the tenants in scope with theirs and the one that results, page by page.
Answer list_modes(Context& context);

Answer get_global_mode(Context& context);
Answer put_global_mode(Context& context);
Answer get_tenant_mode(Context& context);
Answer put_tenant_mode(Context& context);

}  // namespace sluice::server::admin
