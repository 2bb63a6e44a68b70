// Owns a file descriptor, and closes it. Not thread-safe.
#pragma once

#include <cerrno>
#include <utility>

#include <unistd.h>

namespace sluice {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  // Keeps errno, which says why the function that owned the descriptor failed.
  ~FileDescriptor() {
    const int cause = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    errno = cause;
  }

  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

}  // namespace sluice
