// What the span of a check says of its decision.
#pragma once

#include "engine/decide/observer.hpp"

namespace sluice::usage {

// Sets attributes of `check.span`. The subject is named by its hash only. REQUIRES: check.span is not nullptr.
void describe_check(const decide::DecidedCheck& check) noexcept;

}  // namespace sluice::usage
