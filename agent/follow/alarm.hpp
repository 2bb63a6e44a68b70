// A timer of one owner, on the owner's loop: set again it forgets what it was to do before, and once it is gone it does
// nothing any more, also where its time had come already.
//
// Thread: its io_context's.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace sluice::agent::follow {

class Alarm {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Alarm(boost::asio::io_context& context) : timer_(context) {}

  // ring() at `when`, unless set() or clear() comes first. It may do all of that, and destroy the alarm.
  template <class Ring>
  void set(Time when, Ring ring) {
    const std::uint64_t mine = ++*turn_;
    timer_.expires_at(when);
    timer_.async_wait([turn = std::weak_ptr(turn_), mine, ring = std::move(ring)](const auto& stopped) mutable {
      const auto now = turn.lock();
      if (!stopped && now && *now == mine) ring();
    });
  }

  void clear() {
    ++*turn_;
    timer_.cancel();
  }

 private:
  boost::asio::steady_timer timer_;
  std::shared_ptr<std::uint64_t> turn_ = std::make_shared<std::uint64_t>(0);
};

}  // namespace sluice::agent::follow
