// Routes of group mappings. A mapping gives the people of a group of the OpenID provider a role and a scope.
//
// A mapping belongs to the organization that its people get. But only the platform writes mappings, because the
// provider's groups belong to no organization.
#pragma once

#include "server/admin/objects_api.hpp"

namespace sluice::server::admin {

extern const Resource kGroupMappings;

}  // namespace sluice::server::admin
