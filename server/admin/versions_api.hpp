// Routes of the versions of plans and policies, and of the rollout of a policy. The server keeps every version, also of
// deleted objects.
#pragma once

#include "server/admin/objects_api.hpp"

namespace sluice::server::admin {

// Newest first. A removal is a version without a document.
Answer list_versions(Context& context, Kind kind);
Answer get_version(Context& context, Kind kind);

// Takes {"version":3}. Stores that version's document as a new version, if the document is valid by today's rules. Also
// restores a deleted object.
Answer roll_back(Context& context, const Resource& resource);

// Takes {"percent":25}, the share of subjects that the policy applies to.
Answer roll_out(Context& context);

}  // namespace sluice::server::admin
