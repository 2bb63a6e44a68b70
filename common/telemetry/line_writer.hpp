// Writes lines to a sink on a thread of its own, so that a thread that logs never waits for a full pipe or a slow disk.
//
// Lines wait in memory in chunks. When more than `capacity` bytes wait, the oldest chunk is dropped, because the newest
// lines show the current situation. While a sink reports errors, its lines wait as well, and the writer tries again
// each second. A line is cut off only if a write to a descriptor fails or stop() gives up; it counts as dropped.
//
// Threads: append() and dropped() from any thread; stop() from one thread at a time.
// REQUIRES: the program ignores SIGPIPE.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "common/telemetry/line_sink.hpp"

namespace sluice::telemetry {

class OutageLog;

class LineWriter {
 public:
  // Where errors of the sink are logged. The log outlives the writer, and it does not write to this writer. The texts
  // are of the line that begins an outage; they outlive the writer.
  struct Outage {
    OutageLog* log = nullptr;
    std::string_view event;
    std::string_view message;
  };

  static constexpr std::size_t kDefaultCapacity = std::size_t{4} << 20;

  // The caller owns `fd` and keeps it open until stop() has returned. `capacity` is in bytes; one line may always wait,
  // whatever its length.
  explicit LineWriter(int fd, std::size_t capacity = kDefaultCapacity);
  explicit LineWriter(std::unique_ptr<LineSink> sink, std::optional<Outage> outage = std::nullopt,
                      std::size_t capacity = kDefaultCapacity);
  ~LineWriter();  // calls stop(kPatience)
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // `line` has no '\n'. After stop() the line is dropped.
  void append(std::string_view line);

  static constexpr std::chrono::milliseconds kPatience{1000};
  // Writes the waiting lines for at most `patience`, then drops the rest.
  void stop(std::chrono::milliseconds patience = kPatience);

  std::uint64_t dropped() const;  // lines

 private:
  class Shared;
  std::shared_ptr<Shared> shared_;  // shared with the thread, which may outlive this object
};

}  // namespace sluice::telemetry
