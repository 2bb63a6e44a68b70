// The token that opens the agent's metrics, in a file that may be replaced while the agent runs (--metrics-token-file).
//
// Thread: one at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/base/file_identity.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::agent {

class MetricsToken {
 public:
  static constexpr std::size_t kShortest = 16;  // characters
  static constexpr std::size_t kLongest = 1024;

  // REQUIRES: `log` outlives this object.
  MetricsToken(std::string path, telemetry::Log& log) : path_(std::move(path)), log_(log) {}

  // Reads the file. Error: `metrics_token_file`, without anything of the file's content.
  Result<> load();

  // Compares in constant time. Reads the file first if it has changed; if the new content is faulty, logs that, and the
  // former token stays in force. REQUIRES: load() has succeeded.
  bool matches(std::string_view token);

 private:
  const std::string path_;
  telemetry::Log& log_;
  FileIdentity seen_;  // of the file that was last read, or could not be read
  std::string token_;
};

}  // namespace sluice::agent
