// The limits that hold for a check now: those of the policies and plans that judge it, with the numbers of overrides in
// force. They are found with the code that writes overrides into Redis.
#pragma once

#include <string>

#include "common/policy/selection.hpp"
#include "server/admin/call.hpp"

namespace sluice::server::admin {

// Adds the member `effective` to the open object in `out`: a list with one item for each rulebook of the selection, the
// deciding one first. REQUIRES: `tenant` is of `organization_id`, and `selection` was made for `request`. Throws
// RulesFault and what libpqxx throws.
void append_effective(Context& context, const std::string& organization_id, const policy::TenantView& tenant,
                      const CheckRequest& request, const policy::Selection& selection, std::string& out);

}  // namespace sluice::server::admin
