// Decisions and plans as text, and what differs between two decisions.
#pragma once

#include <string>

#include "common/limiter/counter_store.hpp"
#include "tests/integration/equivalence/plans.hpp"

namespace sluice::test {

// Every field that differs, as "field: a, b"; "" where all are equal.
std::string difference(const limiter::Outcome& a, const limiter::Outcome& b);
std::string difference(const LimitReport& a, const LimitReport& b);

std::string to_text(const LimitReport& report);
std::string to_text(const limiter::Outcome& outcome);
std::string to_text(const Limit& limit);
std::string to_text(const RandomPlan& plan);
std::string to_text(const limiter::OverrideEntry& entry);

}  // namespace sluice::test
