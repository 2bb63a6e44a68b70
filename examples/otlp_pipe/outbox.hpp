// The requests that wait for the collector, in bounded memory.
//
// Thread safety: any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "filter.hpp"

namespace otlp_pipe {

struct Letter {
  Signal signal = Signal::logs;
  std::string message;
  bool packed = false;  // with gzip
  std::size_t records = 0;
  std::chrono::steady_clock::time_point accepted;
};

class Outbox {
 public:
  explicit Outbox(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // Reserves room for a request of so many bytes, before it is decided about; false: there is none. An empty outbox has
  // room for any request. What is admitted is put() or given back with leave().
  bool admit(std::size_t bytes);
  void leave(std::size_t bytes);
  // `admitted`: what admit() reserved for it. The message may have become larger.
  void put(Letter letter, std::size_t admitted);

  // The oldest letter, which stays counted until done(). Waits for one; nullopt once closed() and empty.
  std::optional<Letter> take();
  void done(const Letter& letter) { leave(letter.message.size()); }

  void close();  // take() gives what is left, and then nullopt
  bool closed() const;
  // Sleeps, at most until close(). Returns false if it is closed.
  bool sleep(std::chrono::milliseconds time);

 private:
  const std::size_t limit_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Letter> letters_;
  std::size_t bytes_ = 0;  // admitted
  bool closed_ = false;
};

}  // namespace otlp_pipe
