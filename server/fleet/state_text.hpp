// An agent's own words as they are stored.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "common/sync/report.hpp"

namespace sluice::server::fleet {

inline constexpr std::size_t kMaxKeptText = 256;  // bytes of a reason or a refusal's text that are kept

// {"pod","boot_id","version","degraded":[…],"refusal":{"revision","chain","code","text"}|null}
std::string state_text(const sluice::sync::AgentState& state);

// Without the character NUL, which PostgreSQL cannot store.
std::string storable(std::string_view text);

}  // namespace sluice::server::fleet
