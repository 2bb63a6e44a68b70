// Routes of bindings. A binding names a Kubernetes service account, or a whole namespace, and some tenants. Agents that
// run under that service account, or in that namespace, get the policies of these tenants.
//
// A binding belongs to the organization of these tenants: the organization's administrators and auditors see it in
// lists and in the audit trail. Only the platform writes bindings, because a namespace belongs to no organization.
#pragma once

#include "server/admin/objects_api.hpp"

namespace sluice::server::admin {

extern const Resource kBindings;

}  // namespace sluice::server::admin
