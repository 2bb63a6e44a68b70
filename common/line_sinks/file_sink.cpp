#include "common/line_sinks/file_sink.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/core.h>

namespace sluice::line_sinks {
namespace {

constexpr mode_t kMode = 0640;

std::string because(std::string_view what, const std::string& path, int cause) {
  return fmt::format("{} {}: {}", path, what, std::strerror(cause));
}

}  // namespace

FileSink::FileSink(FileOptions options, Now now) : options_(std::move(options)), now_(std::move(now)) {}

FileSink::Written FileSink::write(std::string_view text) {
  if (!is_at_its_path()) {
    if (auto opened = open(); !opened) return {.error = std::move(opened.error())};
  }
  if (room_for(text) == 0) {
    rotate();
    if (auto opened = file_ ? Result<>() : open(); !opened) return {.error = std::move(opened.error())};
  }
  Written written = append(text.substr(0, room_for(text)));
  if (!written.error) written.error = not_rotated_;
  return written;
}

// Reads size_ as well: another program may have truncated the file.
bool FileSink::is_at_its_path() {
  struct stat ours{}, there{};
  if (!file_ || ::fstat(file_.get(), &ours) != 0 || ::stat(options_.path.c_str(), &there) != 0) return false;
  size_ = static_cast<std::uint64_t>(ours.st_size);
  return ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

// O_NONBLOCK: to open a FIFO must not wait for its reader.
Result<> FileSink::open() {
  constexpr const char* kCode = "log_file_not_opened";
  file_ = FileDescriptor();
  FileDescriptor opened(
      ::open(options_.path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, kMode));
  struct stat found{};
  if (!opened || ::fstat(opened.get(), &found) != 0) {
    return failure(kCode, because("cannot be opened", options_.path, errno));
  }
  if (!S_ISREG(found.st_mode)) return failure(kCode, options_.path + " is not a regular file; name another path");
  file_ = std::move(opened);
  size_ = static_cast<std::uint64_t>(found.st_size);
  return {};
}

// How much of `text` this file may still take, in whole lines. 0: the file must rotate.
std::size_t FileSink::room_for(std::string_view text) const {
  if (options_.rotate_size == 0 || size_ + text.size() <= options_.rotate_size) return text.size();
  const std::size_t room = size_ < options_.rotate_size ? options_.rotate_size - size_ : 0;
  const std::size_t end = text.substr(0, room).rfind('\n');
  if (end != std::string_view::npos) return end + 1;
  const bool must_take_a_line = size_ == 0 || (not_rotated_ && now_() < rotate_again_);
  return must_take_a_line ? text.find('\n') + 1 : 0;
}

std::string FileSink::old_path(std::uint32_t number) const { return fmt::format("{}.{}", options_.path, number); }

// On success the file is closed. On failure it goes on to be written.
void FileSink::rotate() {
  std::uint32_t last = 1;  // where a name is free, or the oldest file
  while (last < options_.keep && ::access(old_path(last).c_str(), F_OK) == 0) ++last;
  bool renamed = true;
  for (std::uint32_t number = last; renamed && number > 0; --number) {
    const std::string from = number == 1 ? options_.path : old_path(number - 1);
    renamed = std::rename(from.c_str(), old_path(number).c_str()) == 0;
  }
  if (renamed) {
    not_rotated_.reset();
    file_ = FileDescriptor();
    return;
  }
  not_rotated_ = Error{"log_file_not_rotated", because("cannot be rotated", options_.path, errno)};
  rotate_again_ = now_() + kRotateAgain;
}

FileSink::Written FileSink::append(std::string_view lines) {
  constexpr const char* kCode = "log_file_not_written";
  const ssize_t count = ::write(file_.get(), lines.data(), lines.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (count < 0) return {.error = Error{kCode, because("cannot be written", options_.path, errno)}};
  const auto written = static_cast<std::size_t>(count);
  if (written == lines.size()) {
    size_ += written;
    return {.bytes = written};
  }
  // Nobody else appends, so the file ends with what was written just now.
  const std::size_t whole = lines.substr(0, written).rfind('\n') + 1;
  if (::ftruncate(file_.get(), static_cast<off_t>(size_ + whole)) != 0) {
    return {.bytes = whole, .error = Error{kCode, because("cannot be cut after a line", options_.path, errno)}};
  }
  size_ += whole;
  return {.bytes = whole, .error = Error{kCode, options_.path + " takes only a part of a line: the disk may be full"}};
}

}  // namespace sluice::line_sinks
