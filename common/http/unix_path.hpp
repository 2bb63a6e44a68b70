// The file of a listening Unix socket: made without a moment of wider access, removed only if it is still ours.
#pragma once

#include <string>

#include <sys/types.h>

#include "common/base/error.hpp"

namespace sluice::http {

class UnixPath {
 public:
  // Makes a listening socket at `path` with this mode; a stale file there, one that nobody answers on, is replaced.
  // Errors: address_malformed, address_in_use, address_not_permitted, listen_failed.
  static Result<UnixPath> listen(const std::string& path, mode_t mode);

  UnixPath(UnixPath&& other) noexcept;
  UnixPath& operator=(UnixPath&&) = delete;
  ~UnixPath() { remove(); }

  int take_descriptor();  // once; the caller closes it
  void remove();          // the file, unless another process has put its own there

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
