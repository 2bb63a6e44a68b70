#include "common/program/shutdown.hpp"

#include <csignal>
#include <utility>

#include <boost/asio/post.hpp>

namespace sluice::program {

using boost::system::error_code;

Shutdown::Shutdown(boost::asio::io_context& loop, telemetry::Log& log, std::chrono::milliseconds drain_timeout)
    : loop_(loop), log_(log), drain_timeout_(drain_timeout), signals_(loop, SIGTERM, SIGINT), timer_(loop) {}

void Shutdown::await_signal(std::size_t workers, std::function<void()> drain) {
  working_ = workers;
  drain_ = std::move(drain);
  wait();
}

void Shutdown::wait() {
  signals_.async_wait([this](const error_code& stopped, int signal) {
    if (stopped) return;
    if (draining_) {
      log_.warn("stopping_now", "A second signal: stopping without waiting for requests in flight.");
      return loop_.stop();
    }
    begin(signal);
    wait();
  });
}

void Shutdown::begin(int signal) {
  log_.info("draining", "Finishing requests in flight, then stopping.", {{"signal", signal}});
  draining_ = true;
  drain_();
  timer_.expires_after(drain_timeout_);
  timer_.async_wait([this](const error_code& stopped) {
    if (stopped) return;
    log_.warn("drain_timeout", "Some connections did not end in time and are closed.", {{"workers", working_}});
    loop_.stop();
  });
}

void Shutdown::drained() {
  boost::asio::post(loop_, [this] {
    if (--working_ == 0) loop_.stop();
  });
}

void Shutdown::ignore_signals() {
  signals_.clear();
  for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, SIG_IGN);
}

}  // namespace sluice::program
