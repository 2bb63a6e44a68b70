// Routes of bindings. A binding gives the agents of a Kubernetes service account, or of a whole namespace, the policies
// of some tenants.
//
// A binding belongs to the organization of these tenants. But only the platform writes bindings, because a namespace
// belongs to no organization.
#pragma once

#include "server/admin/objects_api.hpp"

namespace sluice::server::admin {

extern const Resource kBindings;

}  // namespace sluice::server::admin
