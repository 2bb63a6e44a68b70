// Routes of earlier versions of plans and policies. Every version is kept, also of deleted objects, and can be
// restored.
#pragma once

#include "server/admin/objects_api.hpp"

namespace sluice::server::admin {

// Lists versions, newest first. A removal is a version too, without a document.
Answer list_versions(Context& context, Kind kind);
Answer get_version(Context& context, Kind kind);

// {"version":3}: writes that version's document as a new version, which must be valid today. Restores a deleted object.
Answer roll_back(Context& context, const Resource& resource);

// {"percent":25}: the share of subjects that a policy applies to.
Answer roll_out(Context& context);

}  // namespace sluice::server::admin
