// A new folder for a test, removed with the object.
#pragma once

#include <filesystem>

namespace sluice::test {

class TemporaryFolder {
 public:
  // Below `parent`; the default is short enough for Unix sockets.
  explicit TemporaryFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace sluice::test
