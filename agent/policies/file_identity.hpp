// Which file a path leads to and in what state: two looks that are equal saw the same bytes.
//
// A value. Thread safety: the functions may be called from any thread.
#pragma once

#include <cstdint>
#include <string>

struct stat;

namespace sluice::agent::policies {

struct FileIdentity {
  bool exists = false;   // false: all else is 0
  bool regular = false;  // a pipe is read once and never again
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;  // since the Unix epoch, by the file system's clock
  // Who may read it: one that could not be read is tried again once it can.
  std::uint32_t mode = 0;
  std::uint32_t owner = 0;
  std::uint32_t group = 0;

  bool operator==(const FileIdentity&) const = default;
};

FileIdentity identity_of(const struct stat& found);

// Follows links. What cannot be looked at does not exist.
FileIdentity look_at(const std::string& path);

}  // namespace sluice::agent::policies
