// Writes lines to a file descriptor on a thread of its own, so that a thread that logs never waits for the reader of
// the log (a full pipe, a slow disk).
//
// Lines wait in memory in chunks. When the reader is slower than the writers and `capacity` is reached, the oldest
// chunk is dropped and its lines are counted: the newest lines are the ones that explain the current situation.
//
// Thread safety: append() and dropped() from any thread; stop() from one thread at a time.
// Invariants: lines are written whole, in the order of append(), each ended by '\n'. A line is cut off only if a write
// fails or stop() gives up; it counts as dropped. After stop() every line is either written or counted as dropped.
// REQUIRES: the program ignores SIGPIPE.
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

  // The caller owns `fd` and keeps it open until stop() has returned. `capacity`: bytes that may wait; one line may
  // always wait, whatever its length.
  explicit LineWriter(int fd, std::size_t capacity = kDefaultCapacity);
  ~LineWriter();  // calls stop(kPatience)
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // Adds a line, given without '\n'. Never waits for the descriptor. After stop() the line is dropped and counted.
  void append(std::string_view line);

  static constexpr std::chrono::milliseconds kPatience{1000};
  // Writes the waiting lines for at most `patience`, then drops and counts the rest.
  void stop(std::chrono::milliseconds patience = kPatience);

  std::uint64_t dropped() const;  // dropped lines since the start

 private:
  class Shared;
  std::shared_ptr<Shared> shared_;  // shared with the thread, which outlives this object if a write never returns
};

}  // namespace sluice::telemetry
