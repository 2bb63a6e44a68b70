// Shows other threads whether a loop still runs: a timer of the loop notes the time every 250 ms.
//
// Thread: start() on the loop's thread, or before the loop runs; beat_within() from any thread.
#pragma once

#include <atomic>
#include <chrono>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace sluice::program {

class LoopPulse {
 public:
  explicit LoopPulse(boost::asio::io_context& loop) : timer_(loop) {}

  void start() {
    last_.store(std::chrono::steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    timer_.expires_after(std::chrono::milliseconds(250));
    timer_.async_wait([this](const boost::system::error_code& stopped) {
      if (!stopped) start();
    });
  }
  void stop() { timer_.cancel(); }

  // False before start().
  bool beat_within(std::chrono::steady_clock::duration time) const {
    const auto last = std::chrono::steady_clock::duration(last_.load(std::memory_order_relaxed));
    return std::chrono::steady_clock::now().time_since_epoch() - last <= time;
  }

 private:
  boost::asio::steady_timer timer_;
  std::atomic<std::chrono::steady_clock::rep> last_{0};
};

}  // namespace sluice::program
