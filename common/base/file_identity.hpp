// Tells versions of a file apart by what stat(2) returns, without reading the file.
//
// Two versions of equal size may look the same if the modification time was set back, or if both versions were written
// within one tick of the file times (at most 10 ms). So a reader should wait longer than a tick before it reads a
// changed file.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <string>

struct stat;

namespace sluice {

struct FileIdentity {
  bool exists = false;
  bool regular = false;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;  // since the Unix epoch
  // The permissions, so that a reader tries an unreadable file again after they changed.
  std::uint32_t mode = 0;
  std::uint32_t owner = 0;
  std::uint32_t group = 0;

  bool operator==(const FileIdentity&) const = default;
};

FileIdentity identity_of(const struct stat& found);

// Follows links. If stat fails, the file counts as missing.
FileIdentity current_identity(const std::string& path);

}  // namespace sluice
