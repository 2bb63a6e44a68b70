// Routes of the versions of plans and policies, and of the rollout of a policy. The server keeps every version, also of
// deleted objects, and can restore each.
#pragma once

#include "server/admin/objects_api.hpp"

namespace sluice::server::admin {

// Lists versions, newest first. A removal is a version too, without a document.
Answer list_versions(Context& context, Kind kind);
Answer get_version(Context& context, Kind kind);

// Takes {"version":3}. Writes that version's document as a new version; the document must be valid by today's rules.
// Also restores a deleted object.
Answer roll_back(Context& context, const Resource& resource);

// Takes {"percent":25}. Sets the share of subjects that a policy applies to.
Answer roll_out(Context& context);

}  // namespace sluice::server::admin
