// Where the thread of a LineWriter writes lines: a descriptor here, a file that rotates or syslog in common/line_sinks.
//
// Threads: one, that of the LineWriter.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice::telemetry {

class LineSink {
 public:
  // How long write() waits at most for a reader. A disk may take longer.
  static constexpr std::chrono::milliseconds kWait{20};

  struct Written {
    std::size_t bytes = 0;         // how much of the text needs no further attempt, counted from its begin
    std::uint64_t lost = 0;        // lines, of these bytes or of earlier ones, that did not arrive
    std::optional<Error> error{};  // set: reported; with zero bytes, the caller waits before it repeats the text
  };

  virtual ~LineSink() = default;

  // Writes a part of `text`, which ends with a '\n'. Without an error, zero bytes mean that the reader is slow.
  virtual Written write(std::string_view text) = 0;
};

// A pipe, a terminal or a file that the program was started with. What cannot be written is lost: nobody can open a
// broken pipe again.
class DescriptorSink final : public LineSink {
 public:
  // The caller owns `fd`.
  explicit DescriptorSink(int fd) : fd_(fd) {}

  Written write(std::string_view text) override;

 private:
  const int fd_;
};

}  // namespace sluice::telemetry
