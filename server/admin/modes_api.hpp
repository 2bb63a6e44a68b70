// Routes that show and set the global mode and the modes of tenants. A mode is `enforce`, `shadow` (limits are judged
// and reported, but not enforced) or `off` (limits are not judged). Each policy has a mode, too. So three modes apply
// to a request: `off` beats `shadow`, and `shadow` beats `enforce`.
//
// A tenant's mode is a member of the tenant's document. So changing the mode gives the tenant a new version and ETag.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// Lists the global mode and a page of the tenants in the caller's scope. For each tenant, the list has the tenant's own
// mode, and the effective mode: the tenant's own or the global mode, whichever beats the other.
Answer list_modes(Context& context);

Answer get_global_mode(Context& context);
Answer put_global_mode(Context& context);
Answer get_tenant_mode(Context& context);
Answer put_tenant_mode(Context& context);

}  // namespace sluice::server::admin
