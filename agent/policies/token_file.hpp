// The agent's token, in a file that may be replaced while the agent runs. The token is an agent token (slg_…), or that
// of a Kubernetes service account. The kubelet replaces the latter before it expires.
//
// Thread: one at a time.
#pragma once

#include <optional>
#include <string>

#include "common/base/error.hpp"
#include "common/base/file_identity.hpp"

namespace sluice::agent::policies {

class TokenFile {
 public:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  // Returns the token. If the file has changed, reads it again (up to 6 KiB); this blocks until the disk answers. Error
  // `token_file`: the file is unreadable or holds no token. The error's text contains nothing of the file's content.
  Result<std::string> read();

 private:
  const std::string path_;
  std::optional<FileIdentity> read_identity_;  // identity of the file when token_ was read
  std::string token_;
};

}  // namespace sluice::agent::policies
