// Tells versions of a file apart by what stat(2) returns, without reading the file. Equal identities mean equal bytes,
// with two exceptions, both for a file that was rewritten with the same size. First: its modification time was then set
// back to the former value. Second: the old and the new bytes were written within one tick of the file times (at most
// 10 ms). The second exception does no harm to a reader that, after it sees a new identity, waits longer than a tick
// before it reads the file.
//
// Thread safety: the functions may be called from any thread.
#pragma once

#include <cstdint>
#include <string>

struct stat;

namespace sluice {

struct FileIdentity {
  bool exists = false;   // false: all other members are 0
  bool regular = false;  // false: for example a pipe, which can be read only once
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;  // since the Unix epoch, by the file system's clock
  // Permissions belong to the identity, so that an unreadable file is tried again when they change.
  std::uint32_t mode = 0;
  std::uint32_t owner = 0;
  std::uint32_t group = 0;

  bool operator==(const FileIdentity&) const = default;
};

FileIdentity identity_of(const struct stat& found);

// The identity of the file that the path leads to now. Follows links. If stat fails, the file counts as missing.
FileIdentity current_identity(const std::string& path);

}  // namespace sluice
