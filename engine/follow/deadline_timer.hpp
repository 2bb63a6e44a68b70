// A timer with at most one pending callback. After set(), clear() or the destructor, the former callback is never
// called, even if its time has come.
//
// Thread: its io_context's.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace sluice::follow {

class DeadlineTimer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit DeadlineTimer(boost::asio::io_context& context) : timer_(context) {}

  // The callback may call set() and clear(), and may destroy the timer.
  template <class Callback>
  void set(Time when, Callback callback) {
    const std::uint64_t mine = ++*generation_;
    timer_.expires_at(when);
    timer_.async_wait(
        [generation = std::weak_ptr(generation_), mine, callback = std::move(callback)](const auto& stopped) mutable {
          const auto current = generation.lock();
          if (!stopped && current && *current == mine) callback();
        });
  }

  void clear() {
    ++*generation_;
    timer_.cancel();
  }

 private:
  boost::asio::steady_timer timer_;
  std::shared_ptr<std::uint64_t> generation_ = std::make_shared<std::uint64_t>(0);
};

}  // namespace sluice::follow
