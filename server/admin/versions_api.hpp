// What plans and policies were: every version is kept, also of those that are gone, and can be written anew.
#pragma once

#include "server/admin/objects_api.hpp"

namespace sluice::server::admin {

// Newest first. A removal is a version too, without a document.
Answer list_versions(Context& context, Kind kind);
Answer get_version(Context& context, Kind kind);

// {"version":3}: writes what the object was then as a new version, by the rules of today; one that is gone comes back.
Answer roll_back(Context& context, const Resource& resource);

// {"percent":25}: the share of subjects that a policy applies to.
Answer roll_out(Context& context);

}  // namespace sluice::server::admin
