// The agent's token, in a file that may be replaced while the agent runs. It is an agent token (slg_…), or the token of
// a Kubernetes service account, which the kubelet replaces before it expires.
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

  // Returns the token. Reads the file again if it has changed, at most 6 KiB, and waits for the disk. Error
  // `token_file`: the file is unreadable or holds no token. The error's text contains nothing of the file's content.
  Result<std::string> read();

 private:
  const std::string path_;
  std::optional<FileIdentity> read_identity_;  // identity of the file when token_ was read
  std::string token_;
};

}  // namespace sluice::agent::policies
