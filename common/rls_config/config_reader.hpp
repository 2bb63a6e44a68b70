// Reads the files of envoyproxy/ratelimit.
//
// The format has sixteen keys; any other key is a fault. One of the sixteen in a place where it means nothing is
// ignored and noted, as envoyproxy/ratelimit ignores it.
//
// Thread safety: a pure function.
#pragma once

#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/rls_config/config.hpp"

namespace sluice::rls_config {

struct FileText {
  std::string name;  // for faults
  std::string text;  // YAML
};

// Each has its line and column in the file.
struct FileFaults {
  std::string file;
  Faults faults;
};

struct ReadConfig {
  std::shared_ptr<const Config> config;
  std::vector<FileFaults> notes;  // what the files say and what is not done
};

// Returns the rules of all files, or the faults of all files.
std::expected<ReadConfig, std::vector<FileFaults>> read_config(std::span<const FileText> files);

}  // namespace sluice::rls_config
