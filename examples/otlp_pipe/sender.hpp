// Sends letters of the outbox to the collector, one at a time, on a thread of its own.
//
// A letter is sent again, with growing pauses, if the collector cannot be reached or answers 429, 502, 503 or 504, as
// OTLP/HTTP says. It is lost, and counted, if the collector refuses it with another status, or if it has waited too
// long. So is a part that the collector rejects. Between close() of the outbox and `end`, what is left is still sent.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "counts.hpp"
#include "outbox.hpp"

namespace otlp_pipe {

struct Collector {
  std::string host;
  std::string port;
  std::string path;  // before /v1/logs, without a slash at its end
};

struct SenderOptions {
  Collector collector;
  std::chrono::milliseconds patience{60'000};  // how long a letter waits at most, from when it was accepted
  std::chrono::milliseconds deadline{10'000};  // of one request
};

class Sender {
 public:
  // All references outlive the sender.
  Sender(const SenderOptions& options, Outbox& outbox, Counts& counts);
  ~Sender() = default;  // joins: REQUIRES Outbox::close()

  // From then on, letters are given up. From any thread.
  void give_up() { given_up_ = true; }

 private:
  class Connection;
  enum class Outcome { taken, refused, again };

  void run();
  void deliver(Connection& connection, const Letter& letter);

  const SenderOptions& options_;
  Outbox& outbox_;
  Counts& counts_;
  std::atomic<bool> given_up_{false};
  std::jthread thread_;
};

}  // namespace otlp_pipe
