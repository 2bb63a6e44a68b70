// Sends one delivery: one POST, signed, to an address that the rules allow. Redirects are answers like others: they
// are not followed.
#pragma once

#include <chrono>

#include "server/webhooks/outbox.hpp"
#include "server/webhooks/setup.hpp"

namespace sluice::server::webhooks {

inline constexpr std::size_t kMaxAnswer = std::size_t{64} << 10;  // bytes; a longer answer is a failure
inline constexpr std::size_t kKeptAnswer = 1024;                  // bytes, for people who look for the cause

struct SendTimeouts {
  std::chrono::milliseconds connect{5'000};  // look-up, TCP and TLS
  std::chrono::milliseconds answer{10'000};  // between two parts of the answer
  std::chrono::milliseconds total{20'000};
};

// Blocks for up to `total`, and longer only while the system's resolver does not answer. Any thread. The delivery has
// succeeded if the answer's status is 200 to 299.
Outcome send(const Claimed& claimed, const Setup& setup, const SendTimeouts& timeouts = {});

}  // namespace sluice::server::webhooks
