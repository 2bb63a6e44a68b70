// Appends lines to a file. When the file is full, it becomes PATH.1, PATH.1 becomes PATH.2, and so on up to `keep`; the
// oldest is replaced.
//
// - A line is never divided between two files, and a write that fails leaves no half line behind.
// - Each rename is atomic, so each line is in one file at any time. If a rename fails, the file grows beyond its size,
//   and the sink tries again after kRotateAgain.
// - Before each write the sink looks at the path. If somebody renamed or removed the file, the sink opens it anew. So
//   logrotate works without a signal, and the file is back when a folder that vanished is back.
//
// REQUIRES: no other process writes to the same path.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/base/file_descriptor.hpp"
#include "common/telemetry/line_sink.hpp"

namespace sluice::line_sinks {

struct FileOptions {
  std::string path;
  std::uint64_t rotate_size = 0;  // bytes; 0: the file never rotates. A single line that is longer still fits.
  std::uint32_t keep = 1;         // old files, ≥ 1
};

class FileSink final : public telemetry::LineSink {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Now = std::function<Time()>;
  static constexpr std::chrono::seconds kRotateAgain{10};  // after a rename that failed

  explicit FileSink(FileOptions options, Now now = std::chrono::steady_clock::now);

  // Errors: log_file_not_opened, log_file_not_written; log_file_not_rotated, although lines are written.
  Written write(std::string_view text) override;

 private:
  bool is_at_its_path();
  Result<> open();
  std::size_t room_for(std::string_view text) const;
  void rotate();
  std::string old_path(std::uint32_t number) const;
  Written append(std::string_view lines);

  const FileOptions options_;
  const Now now_;
  FileDescriptor file_;
  std::uint64_t size_ = 0;  // of file_
  // After a rename that failed:
  std::optional<Error> not_rotated_;
  Time rotate_again_{};
};

}  // namespace sluice::line_sinks
