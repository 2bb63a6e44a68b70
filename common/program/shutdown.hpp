// Ends a program in order: the first SIGTERM or SIGINT starts the drain. A second signal, or the end of
// `drain_timeout`, stops the loop at once. A signal that arrives before the loop runs is handled when the loop runs.
//
// Call everything but drained() on the loop's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/telemetry/log.hpp"

namespace sluice::program {

class Shutdown {
 public:
  // `loop` and `log` must outlive this object.
  Shutdown(boost::asio::io_context& loop, telemetry::Log& log, std::chrono::milliseconds drain_timeout);
  Shutdown(const Shutdown&) = delete;
  Shutdown& operator=(const Shutdown&) = delete;

  // `drain` must make each of `workers` (≥ 1) finish its requests in flight and then call drained(). The last call of
  // drained() stops the loop. REQUIRES: called once, before the loop runs.
  void await_signal(std::size_t workers, std::function<void()> drain);
  void drained();  // may be called from any thread

  // REQUIRES: the loop has ended.
  void ignore_signals();

 private:
  void wait();
  void begin(int signal);

  boost::asio::io_context& loop_;
  telemetry::Log& log_;
  const std::chrono::milliseconds drain_timeout_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer timer_;
  std::function<void()> drain_;
  std::size_t working_ = 0;  // workers that have not drained yet
  bool draining_ = false;
};

}  // namespace sluice::program
