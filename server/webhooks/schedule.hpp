// When a failed delivery is tried again.
//
// Thread safety: pure functions.
#pragma once

#include <chrono>

namespace sluice::server::webhooks {

inline constexpr std::chrono::milliseconds kFirstRetry{5'000};
inline constexpr std::chrono::milliseconds kLongestRetry{std::chrono::hours(1)};

// How long to wait after this many failed attempts (from 1): 5 s, doubled each time, at most 1 h. Of that, the wait is
// a random part between a half and all; `random` in [0, 1) chooses. So a receiver that comes back is not called by all
// at once.
std::chrono::milliseconds retry_delay(int failed_attempts, double random);

}  // namespace sluice::server::webhooks
