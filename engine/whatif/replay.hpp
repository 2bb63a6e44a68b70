// Judges recorded checks by the policies of a snapshot, with the code that decides checks, and counts what one policy
// does with them. The counters begin empty; the recorded times are the clock.
//
// Thread safety: pure; takes a time that grows with the number of checks, so it is no work for a thread that decides.
#pragma once

#include <string_view>

#include "common/policy/snapshot.hpp"
#include "common/sync/whatif.hpp"
#include "engine/whatif/recording.hpp"

namespace sluice::whatif {

// Counts by minute, and the foremost subjects. `policy_id`: the edited policy; checks that another policy decides are
// not judged. REQUIRES: `tenant` belongs to `snapshot`; the policy has no limit that takes leases.
sync::WhatIfAnswer replay(const policy::Snapshot& snapshot, const policy::TenantView& tenant,
                          std::string_view policy_id, const RecordedChecks& checks);

}  // namespace sluice::whatif
