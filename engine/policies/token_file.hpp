// The agent's token, in a file that may be replaced while the agent runs. The file holds an agent token (slg_…), or the
// token of a Kubernetes service account.
//
// Thread: one at a time.
#pragma once

#include <optional>
#include <string>

#include "common/base/error.hpp"
#include "common/base/file_identity.hpp"

namespace sluice::policies {

class TokenFile {
 public:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  // Returns the token. Reads the file again if it has changed; reading blocks. Error: `token_file`. The error's text
  // contains nothing of the file's content.
  Result<std::string> read();

 private:
  const std::string path_;
  std::optional<FileIdentity> read_identity_;  // of the file that token_ comes from
  std::string token_;
};

}  // namespace sluice::policies
