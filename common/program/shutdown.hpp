// How a program ends: SIGTERM or SIGINT makes it drain; a second signal, or the time-out, ends the waiting.
//
// From here on signals do not end the process by themselves: one that comes during the start is heard once the loop
// runs. Thread: the loop's, but for drained().
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
  // `loop` and `log` outlive it.
  Shutdown(boost::asio::io_context& loop, telemetry::Log& log, std::chrono::milliseconds drain_timeout);
  Shutdown(const Shutdown&) = delete;
  Shutdown& operator=(const Shutdown&) = delete;

  // Once, before the loop runs. At the first signal calls `drain`, which lets `workers` (≥ 1) answer what is in flight;
  // each of them then calls drained(). The loop is stopped when all have, at a second signal, or after the time-out.
  void await_signal(std::size_t workers, std::function<void()> drain);
  void drained();  // from any thread

  // Once the loop has ended: one more signal shall not end by force what is ending anyway.
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
  bool asked_to_stop_ = false;
};

}  // namespace sluice::program
