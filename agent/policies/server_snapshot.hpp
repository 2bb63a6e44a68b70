// From the state of a scope, as the server sends it, to the snapshot that is decided by.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>

#include "common/base/error.hpp"
#include "common/policy/snapshot.hpp"
#include "common/sync/kept_state.hpp"
#include "common/sync/scope_state.hpp"

namespace sluice::agent::policies {

using CompiledState = std::expected<std::shared_ptr<const policy::Snapshot>, Faults>;

// All of it. Faults name their object in their text.
CompiledState compile_whole(const sync::ScopeState& state, std::int64_t now_us);
CompiledState compile_kept(const sync::KeptState& state, std::int64_t now_us);

// The state that was applied, out of the snapshot of the state before: costs what has changed. Where that does not
// work, whatever the reason, the whole is compiled, and its faults are those that count.
CompiledState compile_next(const policy::Snapshot& before, const sync::Applied& applied, std::int64_t now_us);

}  // namespace sluice::agent::policies
