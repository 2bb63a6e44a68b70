#include "common/http/unix_path.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace sluice::http {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

std::unexpected<Error> failed(const std::string& path, int error) {
  const char* code = "listen_failed";
  if (error == EADDRINUSE) code = "address_in_use";
  if (error == EACCES || error == EPERM || error == EROFS) code = "address_not_permitted";
  return failure(code, fmt::format("cannot listen on {}: {}", path, std::strerror(error)));
}

// Returns 0 if a process listens, even if it is too busy to accept; otherwise the error number.
int try_connect(const std::string& path) {
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return errno;
  const sockaddr_un address = address_of(path);
  int error = ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  ::close(descriptor);
  return error == EAGAIN ? 0 : error;
}

Result<> remove_stale(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return errno == ENOENT ? Result<>() : failed(path, errno);
  if (!S_ISSOCK(status.st_mode)) {
    return failure("address_in_use", fmt::format("cannot listen on {}: the file exists and is not a socket", path));
  }
  const int error = try_connect(path);
  if (error == 0)
    return failure("address_in_use", fmt::format("cannot listen on {}: another process listens there", path));
  if (error == ENOENT) return {};
  if (error != ECONNREFUSED) return failed(path, error);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed(path, errno);
  return {};
}

}  // namespace

Result<UnixPath> UnixPath::listen(const std::string& path, mode_t mode) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path) || path.find('\0') != std::string::npos) {
    return failure("address_malformed", fmt::format("\"{}\" is not a socket path: it must have 1 to {} bytes, no NUL",
                                                    path, sizeof(sockaddr_un::sun_path) - 1));
  }
  if (const Result<> cleared = remove_stale(path); !cleared) return std::unexpected(cleared.error());
  UnixPath made(path, ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (made.descriptor_ < 0) return failed(path, errno);
  if (const Result<> ready = made.bind_and_listen(mode); !ready) return std::unexpected(ready.error());
  return made;
}

Result<> UnixPath::bind_and_listen(mode_t mode) {
  // On Linux, bind() creates the file with the mode of the descriptor, minus the umask.
  ::fchmod(descriptor_, mode);
  const sockaddr_un address = address_of(path_);
  if (::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return failed(path_, errno);
  struct stat status{};
  if (::lstat(path_.c_str(), &status) != 0) return failed(path_, errno);
  bound_ = true;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  if (::chmod(path_.c_str(), mode) != 0 || ::listen(descriptor_, SOMAXCONN) != 0) return failed(path_, errno);
  return {};
}

UnixPath::UnixPath(UnixPath&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bound_(std::exchange(other.bound_, false)),
      device_(other.device_),
      inode_(other.inode_) {}

int UnixPath::take_descriptor() { return std::exchange(descriptor_, -1); }

void UnixPath::remove() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!std::exchange(bound_, false)) return;
  struct stat status{};
  if (::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
}

}  // namespace sluice::http
