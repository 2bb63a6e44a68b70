#include "common/base/file_identity.hpp"

#include <sys/stat.h>

namespace sluice {

FileIdentity identity_of(const struct stat& found) {
  FileIdentity identity;
  identity.exists = true;
  identity.regular = S_ISREG(found.st_mode);
  identity.device = found.st_dev;
  identity.inode = found.st_ino;
  identity.size = found.st_size;
  identity.modified_ns = std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec;
  identity.mode = found.st_mode;
  identity.owner = found.st_uid;
  identity.group = found.st_gid;
  return identity;
}

FileIdentity current_identity(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 ? identity_of(found) : FileIdentity{};
}

}  // namespace sluice
