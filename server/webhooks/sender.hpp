// Sends one delivery: one POST, signed, to an address that the rules allow. Redirects are answers like others: they
// are not followed.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "common/base/timed_join_thread.hpp"
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

// Loops of deliveries that have ended while the system's resolver, which cannot be interrupted, still looks their
// host's name up. Each has a thread that waits for it.
//
// Thread-safe. The destructor waits for all.
class StuckLookups {
 public:
  StuckLookups() = default;
  ~StuckLookups();
  StuckLookups(const StuckLookups&) = delete;
  StuckLookups& operator=(const StuckLookups&) = delete;

  // Destroys the loop when its look-up has ended. Waits for that only if there are kMost others.
  void add(std::unique_ptr<boost::asio::io_context> loop);
  bool finished_by(std::chrono::steady_clock::time_point time) const;

 private:
  static constexpr std::size_t kMost = 64;
  void drop_finished();  // REQUIRES: mutex_ is locked

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<TimedJoinThread>> threads_;
};

// Blocks for up to `total`. Any thread. The delivery has succeeded if the answer's status is 200 to 299.
Outcome send(const Claimed& claimed, const Setup& setup, StuckLookups& stuck, const SendTimeouts& timeouts = {});

}  // namespace sluice::server::webhooks
