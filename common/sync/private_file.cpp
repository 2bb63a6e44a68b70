#include "common/sync/private_file.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>

namespace sluice::sync {
namespace {

using Trust = PrivateFile::Trust;

constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;
constexpr mode_t kNewFile = 0600;

std::string foreign_kind(mode_t mode, FileKind kind) {
  if (S_ISLNK(mode)) return "is a symbolic link, which others can point elsewhere; remove it";
  return fmt::format("is not a {}; remove it", kind == FileKind::folder ? "folder" : "regular file");
}

// `trust` and `reason` by what stat(2) says.
PrivateFile judged(const struct stat& found, FileKind kind) {
  const bool right_kind = kind == FileKind::folder ? S_ISDIR(found.st_mode) : S_ISREG(found.st_mode);
  if (!right_kind) return {Trust::foreign, {}, foreign_kind(found.st_mode, kind)};
  if (found.st_uid != ::geteuid()) {
    return {Trust::foreign,
            {},
            fmt::format("belongs to user {}, and the agent runs as user {}, so somebody else can have written it; "
                        "remove it, or run the agent as its owner",
                        found.st_uid, ::geteuid())};
  }
  if ((found.st_mode & kOthersMayWrite) == 0) return {Trust::good, {}, {}};
  return {Trust::loosened,
          {},
          fmt::format("has mode {:04o}, so others can have changed {}; it is not used, and the next save replaces it. "
                      "Find out who lets others write there (chmod, or fsGroup of a pod)",
                      found.st_mode & 07777, kind == FileKind::folder ? "what is in it" : "it")};
}

// Says more than errno where a file could not be opened because of what it is.
PrivateFile unopened(int folder, const std::string& name, FileKind kind) {
  if (errno == ENOENT) return {Trust::missing, {}, {}};
  const std::string cause = std::strerror(errno);
  struct stat found{};
  if (::fstatat(folder, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) {
    PrivateFile file = judged(found, kind);
    if (file.trust == Trust::foreign) return file;
  }
  return {Trust::unreadable, {}, cause};
}

}  // namespace

PrivateFile open_private(int folder, const std::string& name, FileKind kind, int flags) {
  const int all_flags = flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (kind == FileKind::folder ? O_DIRECTORY : 0);
  FileDescriptor opened(::openat(folder, name.c_str(), all_flags, kNewFile));
  struct stat found{};
  if (!opened || ::fstat(opened.get(), &found) != 0) return unopened(folder, name, kind);
  PrivateFile file = judged(found, kind);
  if (file.trust != Trust::foreign) file.descriptor = std::move(opened);
  return file;
}

}  // namespace sluice::sync
