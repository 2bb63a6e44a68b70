// Reloads a file periodically, and logs when that puts something new in force or fails.
//
// Thread: the loop's. REQUIRES: the log outlives this object.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/base/error.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::program {

class ReloadTimer {
 public:
  // String literals.
  struct Events {
    std::string_view refused;  // the event when the reload fails; what was in force stays
    std::string_view renewed;
    std::string_view renewed_text;
  };
  static constexpr std::chrono::milliseconds kEvery{5'000};

  ReloadTimer(boost::asio::io_context& loop, telemetry::Log& log, const Events& events,
              std::chrono::milliseconds every = kEvery)
      : log_(log), events_(events), every_(every), timer_(loop) {}

  // `reload` returns whether something new is in force. REQUIRES: called once.
  void start(std::function<Result<bool>()> reload);
  void stop() { timer_.cancel(); }

 private:
  void wait();

  telemetry::Log& log_;
  const Events events_;
  const std::chrono::milliseconds every_;
  boost::asio::steady_timer timer_;
  std::function<Result<bool>()> reload_;
};

}  // namespace sluice::program
