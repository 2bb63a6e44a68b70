// Opens files and folders that only this process's user can have written.
//
// A file is judged by its descriptor, so nobody can swap it between the check and the use. The folder around it may be
// open to everybody, as volumes of Kubernetes are: what somebody else puts there has another owner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/stat.h>

#include "common/base/file_descriptor.hpp"

namespace sluice::sync {

enum class FileKind : std::uint8_t { regular, folder };

struct PrivateFile {
  enum class Trust : std::uint8_t {
    good,
    loosened,    // it is ours, but others may write it
    foreign,     // it has another owner or kind, or is a symbolic link
    unreadable,  // it could not be opened, for another reason
    missing,
  };
  Trust trust = Trust::missing;
  FileDescriptor descriptor;  // where `trust` is good or loosened
  std::string reason;         // unless good or missing: completes a sentence that begins with the path
};

// Opens `name` in the open folder `folder` (AT_FDCWD: `name` is a path) with openat's `flags`. Follows no symbolic link
// in the last part of `name`, and does not wait for a pipe's other end.
PrivateFile open_private(int folder, const std::string& name, FileKind kind, int flags);

}  // namespace sluice::sync
