// Lines for a file descriptor, written by a thread of their own: whoever logs never waits for who reads the log.
//
// Lines wait in memory in chunks. Where the reader is slower than the writers and `capacity` is reached, the oldest
// waiting chunk is dropped and its lines are counted: the newest lines are the ones that explain what is going on.
//
// Thread safety: append() and dropped() from any thread; stop() once.
// Invariants: lines go out in the order of their append(), whole, each ended by '\n'; every line is either written or
// counted as dropped, once stop() has returned.
// The program must ignore SIGPIPE.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace sluice::telemetry {

class LineWriter {
 public:
  static constexpr std::size_t kDefaultCapacity = std::size_t{4} << 20;

  // `fd` stays the caller's, and open until stop() has returned. `capacity`: bytes that may wait, at least one line.
  explicit LineWriter(int fd, std::size_t capacity = kDefaultCapacity);
  ~LineWriter();  // as stop(kPatience)
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // Takes a line without its '\n'. Never waits for the descriptor. After stop(): dropped and counted.
  void append(std::string_view line);

  // Writes what is waiting, for as long as `patience` at most; what is left then is dropped and counted.
  static constexpr std::chrono::milliseconds kPatience{1000};
  void stop(std::chrono::milliseconds patience = kPatience);

  std::uint64_t dropped() const;  // lines, since the start

 private:
  class Shared;
  std::shared_ptr<Shared> shared_;  // with the thread, which outlives this object where a write never returns
};

}  // namespace sluice::telemetry
