// A folder for last-known-good files, and what is in them.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "common/sync/state_files.hpp"

namespace sluice::sync {

// A folder of the test's own, which goes with it. In memory where there is such a place: a process that is killed loses
// nothing that was written, synced or not, and waiting for a disk hundreds of times would prove nothing.
class Folder {
 public:
  Folder() {
    const std::filesystem::path in_memory("/dev/shm");
    const bool there = ::access(in_memory.c_str(), W_OK | X_OK) == 0;
    std::string name = ((there ? in_memory : std::filesystem::temp_directory_path()) / "sluice-lkg-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file() const { return (path_ / "state").string(); }  // StateFiles' path
  std::string inside(std::string_view name) const { return (path_ / "state.state" / name).string(); }
  void make_inside() const { REQUIRE(::mkdir(inside("").c_str(), 0700) == 0); }
  std::size_t files() const { return count(path_ / "state.state"); }

  static std::size_t count(const std::filesystem::path& folder) {
    if (!std::filesystem::exists(folder)) return 0;
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

inline mode_t mode_of(const std::string& path) {
  struct stat status{};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

inline std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline void write_to(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

inline std::string loaded(const std::string& path) {
  auto found = StateFiles(path).load();
  return found ? found->content : found.error().code;
}

// A content of several pieces of writing, and unlike that of any other number.
inline std::string content_of(int number) {
  return fmt::format("state {}\n", number) +
         std::string(2 * StateFiles::kWriteBytes + 17, static_cast<char>('a' + number % 26));
}

}  // namespace sluice::sync
