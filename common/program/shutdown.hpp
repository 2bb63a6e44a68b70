// Ends a program in order: the first SIGTERM or SIGINT starts the drain. A second signal, or the end of
// `drain_timeout`, stops the loop at once.
//
// Once this object exists, these signals do not kill the process. A signal that arrives during the start is handled
// when the loop runs. Thread safety: call everything but drained() on the loop's thread.
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

  // At the first signal, calls `drain`, which must make each of `workers` (≥ 1) finish its requests in flight and then
  // call drained(). The loop stops when all workers have called drained(), at a second signal, or after the time-out.
  // REQUIRES: called once, before the loop runs.
  void await_signal(std::size_t workers, std::function<void()> drain);
  void drained();  // may be called from any thread

  // To be called when the loop has ended: further signals are ignored while the process cleans up.
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
