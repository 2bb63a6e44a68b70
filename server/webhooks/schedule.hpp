// When a failed delivery is tried again.
//
// Thread safety: pure functions.
#pragma once

#include <chrono>

namespace sluice::server::webhooks {

inline constexpr std::chrono::milliseconds kFirstRetry{5'000};
inline constexpr std::chrono::milliseconds kLongestRetry{std::chrono::hours(1)};

// How long to wait after this many failed attempts (from 1): 5 s, doubled each time, at most 1 h, of which the second
// half is multiplied by `random` in [0, 1). So receivers that come back are not called by all at once, and never sooner
// than half the time.
std::chrono::milliseconds retry_delay(int failed_attempts, double random);

}  // namespace sluice::server::webhooks
