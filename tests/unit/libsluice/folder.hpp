// A folder of its own for a test that needs files.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace sluice {

class Folder {
 public:
  Folder() {
    static std::atomic<int> made = 0;
    path_ = std::filesystem::temp_directory_path() / fmt::format("libsluice-{}-{}", ::getpid(), made++);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file(std::string_view name) const { return path_ / name; }
  // As programs replace files: whole, by renaming.
  std::string write(std::string_view name, std::string_view text) const {
    std::ofstream(file("new")) << text;
    std::filesystem::rename(file("new"), file(name));
    return file(name);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace sluice
