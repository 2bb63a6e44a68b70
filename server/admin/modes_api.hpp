// Routes that show and set the global mode and the modes of tenants. `off` beats `shadow`, and `shadow` beats
// `enforce`. Changing a tenant's mode gives the tenant a new version and ETag.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// Lists the global mode and a page of tenants. Each tenant has its own mode and the effective mode.
Answer list_modes(Context& context);

Answer get_global_mode(Context& context);
Answer put_global_mode(Context& context);
Answer get_tenant_mode(Context& context);
Answer put_tenant_mode(Context& context);

}  // namespace sluice::server::admin
