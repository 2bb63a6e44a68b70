// The command make-secrets: creates the Secrets with the passwords of PostgreSQL and Redis. Existing Secrets are
// neither read nor changed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "server/kubernetes/api_client.hpp"

namespace sluice::server::kubernetes {

struct SecretsOptions {
  ApiOptions api = {};
  std::string database_host = {};  // HOST[:PORT]
  std::string database_name = {};
};

struct NewSecret {
  std::string name;
  std::vector<std::pair<std::string, std::string>> values;
};

// Returns the Secrets sluice-database and sluice-redis with random passwords. Of the URLs in these Secrets, only
// `owner-url` contains a password.
std::vector<NewSecret> wanted_secrets(const SecretsOptions& options);

std::string write_secret(const NewSecret& secret);

struct CreatedSecret {
  std::string name;
  bool created = false;  // false: it existed already
};
// Blocks. Stops at the first error; Secrets that were created before the error stay. Errors: those of Api; `refused`:
// the API server did not accept a Secret.
Result<std::vector<CreatedSecret>> make_secrets(const SecretsOptions& options);

}  // namespace sluice::server::kubernetes
