// What agents of an earlier release can read. They refuse a snapshot with a field that they do not know; agents since
// then ignore such a field, and say so (sync::kReadsField). So an older agent gets its objects without the fields that
// are newer than it, and decides as its release decides. It also gets no `require_key_by` without `key_by`: it would
// require the default's `resource` as well, and refuse the checks that name a plan.
//
// Thread safety: pure functions.
#pragma once

#include "common/sync/object.hpp"

namespace sluice::server::sync {

// The object itself if it has no newer field.
sluice::sync::ObjectPtr without_newer_fields(const sluice::sync::ObjectPtr& object);

}  // namespace sluice::server::sync
