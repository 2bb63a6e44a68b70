// Turns the state that an agent reported into the JSON that PostgreSQL stores.
#pragma once

#include <string>
#include <string_view>

#include "common/sync/report.hpp"

namespace sluice::server::fleet {

inline constexpr std::size_t kMaxStoredText = 256;  // bytes, in `degraded` and `refusal`

// {"pod","boot_id","version","counters_generation","degraded":[…],"refusal":{"revision","chain","code","text"}|null}
std::string state_text(const sluice::sync::AgentState& state);

// Replaces the character NUL, which PostgreSQL cannot store, by a space.
std::string without_nul(std::string_view text);

}  // namespace sluice::server::fleet
