// A folder for log files, which vanishes with the test.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sluice::line_sinks {

class LogFolder {
 public:
  LogFolder() {
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~LogFolder() { std::filesystem::remove_all(path_); }
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  bool has(const std::string& name) const { return std::filesystem::exists(path(name)); }
  std::string text(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }

 private:
  std::string path_ = std::filesystem::temp_directory_path() / "sluice-log-XXXXXX";
};

}  // namespace sluice::line_sinks
