// Creates the Secrets with the passwords of PostgreSQL and Redis, for a cluster that runs both itself. Existing Secrets
// are neither read nor changed.
//
// Thread safety: wanted_secrets() is pure except for randomness; make_secrets() runs a loop of its own until it is
// done.
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
  std::string redis_host = {};  // HOST[:PORT]
};

struct NewSecret {
  std::string name;
  std::vector<std::pair<std::string, std::string>> values;
};

// sluice-database: `url`, `password` (of sluice_app); `owner-url`, with the password, and `owner-password` (of
// sluice_owner). sluice-redis: `server-url`, `server-user`, `server-password`, `agent-user`, `agent-password`.
// Passwords are 43 letters and digits: 32 random bytes.
std::vector<NewSecret> wanted_secrets(const SecretsOptions& options);

std::string write_secret(const NewSecret& secret);

struct CreatedSecret {
  std::string name;
  bool created = false;  // false: it existed already
};
// Errors: as Api's; `refused`. Secrets before the one that failed have been created.
Result<std::vector<CreatedSecret>> make_secrets(const SecretsOptions& options);

}  // namespace sluice::server::kubernetes
