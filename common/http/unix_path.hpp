// Creates and removes the file of a listening Unix socket. The file never has wider permissions than requested, not
// even briefly.
#pragma once

#include <string>

#include <sys/types.h>

#include "common/base/error.hpp"

namespace sluice::http {

class UnixPath {
 public:
  // Replaces a socket file that has no listener. Errors: address_malformed, address_in_use, address_not_permitted,
  // listen_failed.
  static Result<UnixPath> listen(const std::string& path, mode_t mode);

  UnixPath(UnixPath&& other) noexcept;
  UnixPath& operator=(UnixPath&&) = delete;
  ~UnixPath() { remove(); }

  int take_descriptor();  // the caller then owns the descriptor
  void remove();          // removes the file, unless another process has replaced it

 private:
  UnixPath(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  Result<> bind_and_listen(mode_t mode);

  std::string path_;
  int descriptor_ = -1;
  bool bound_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace sluice::http
