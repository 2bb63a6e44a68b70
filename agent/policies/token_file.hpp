// The agent's token, in a file that may be replaced while the agent runs: one that the server made (slg_…), or that of
// a Kubernetes service account, which the kubelet replaces long before it ends.
//
// Thread: one at a time.
#pragma once

#include <optional>
#include <string>

#include "agent/policies/file_identity.hpp"
#include "common/base/error.hpp"

namespace sluice::agent::policies {

class TokenFile {
 public:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  // The token; read anew where the file has changed. Blocking, of a small local file. Error: `token_file` (unreadable,
  // or what it holds is no agent token). Its text holds no content of the file.
  Result<std::string> read();

 private:
  const std::string path_;
  std::optional<FileIdentity> read_as_;  // and was good
  std::string token_;
};

}  // namespace sluice::agent::policies
