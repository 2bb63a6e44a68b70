// Routes of modes: limits are enforced, judged without effect (shadow), or off. The platform, each tenant and each
// policy have a mode. Of the three that concern a request, off beats shadow, and shadow beats enforce.
//
// A tenant's mode is a member of the tenant's document. So these routes change the tenant, with its version and ETag.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// The global mode, and a page of tenants in scope: for each its own mode and the one that results with the global mode.
Answer list_modes(Context& context);

Answer get_global_mode(Context& context);
Answer put_global_mode(Context& context);
Answer get_tenant_mode(Context& context);
Answer put_tenant_mode(Context& context);

}  // namespace sluice::server::admin
