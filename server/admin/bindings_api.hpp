// Bindings: a Kubernetes service account, or a whole namespace, and the tenants whose policies its agents get.
//
// They belong to the organization whose policies they give: its administrators and auditors see them, in lists and in
// its trail. The platform writes them, for a namespace is no organization's.
#pragma once

#include "server/admin/objects_api.hpp"

namespace sluice::server::admin {

extern const Resource kBindings;

}  // namespace sluice::server::admin
