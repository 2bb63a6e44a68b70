// Compiles a scope's state, as the server sends it, into the snapshot that workers decide by.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>

#include "common/base/error.hpp"
#include "common/policy/snapshot.hpp"
#include "common/sync/saved_state.hpp"
#include "common/sync/scope_state.hpp"

namespace sluice::agent::policies {

using CompiledState = std::expected<std::shared_ptr<const policy::Snapshot>, Faults>;

// Compile all objects of a state from the server, or of a state from the disk. The text of a fault names its object.
CompiledState compile_full(const sync::ScopeState& state, std::int64_t now_us);
CompiledState compile_saved(const sync::SavedState& state, std::int64_t now_us);

// Compiles applied.state from the former snapshot and the changes, so that unchanged objects are not compiled again. If
// that fails, or if more than a quarter of the objects changed, compiles all objects as compile_full() does. Faults are
// always those of a full compilation.
CompiledState compile_next(const policy::Snapshot& before, const sync::Applied& applied, std::int64_t now_us);

}  // namespace sluice::agent::policies
