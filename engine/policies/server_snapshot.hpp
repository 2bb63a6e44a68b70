// Compiles a state from the server into the snapshot that workers decide by. Pure functions.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>

#include "common/base/error.hpp"
#include "common/policy/snapshot.hpp"
#include "common/sync/bundle_of.hpp"
#include "common/sync/saved_state.hpp"
#include "common/sync/scope_state.hpp"

namespace sluice::policies {

using CompiledState = std::expected<std::shared_ptr<const policy::Snapshot>, Faults>;

// Compile all objects. The text of a fault names its object. Fields that only a later release knows are ignored, and
// listed in `newer`.
CompiledState compile_full(const sync::ScopeState& state, std::int64_t now_us, sync::NewerFields& newer);
CompiledState compile_saved(const sync::SavedState& state, std::int64_t now_us, sync::NewerFields& newer);

// Compiles only the changes. If that fails, or more than a quarter of the objects changed, works as compile_full().
// `newer` then lists fields of at least the changed objects.
CompiledState compile_next(const policy::Snapshot& before, const sync::Applied& applied, std::int64_t now_us,
                           sync::NewerFields& newer);

}  // namespace sluice::policies
