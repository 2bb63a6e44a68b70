// Creates the Secrets with the passwords of PostgreSQL and Redis, for a cluster that runs its own PostgreSQL and Redis.
// The command make-secrets does this. Existing Secrets are neither read nor changed.
//
// Thread safety: wanted_secrets() is pure except for randomness; make_secrets() runs an event loop of its own and
// blocks until it is done.
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

// Returns the Secrets to create:
//   sluice-database  `url` and `password` of the role sluice_app; `owner-url` and `owner-password` of sluice_owner. Of
//                    the two URLs only `owner-url` contains a password.
//   sluice-redis     the users and passwords of servers, of agents, and of the nodes of a Redis Cluster among themselves:
//                    `server-user`, `server-password`, `agent-user`, `agent-password`, `node-user`, `node-password`
// Passwords are 43 letters and digits: 32 random bytes.
std::vector<NewSecret> wanted_secrets(const SecretsOptions& options);

std::string write_secret(const NewSecret& secret);  // as JSON of the Kubernetes API

struct CreatedSecret {
  std::string name;
  bool created = false;  // false: it existed already
};
// Creates the Secrets one after the other and stops at the first error; the Secrets created before the error stay.
// Errors: those of Api; `refused`: the API server did not accept a Secret.
Result<std::vector<CreatedSecret>> make_secrets(const SecretsOptions& options);

}  // namespace sluice::server::kubernetes
