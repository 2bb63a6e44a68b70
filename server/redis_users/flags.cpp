#include "server/redis_users/flags.hpp"

#include "server/redis_users/secret.hpp"

namespace sluice::server::redis_users {

Settings read_settings(program::ConfigReader& reader) {
  Settings settings;
  const std::string& mode = reader.value("redis-users").text;
  settings.per_scope = mode == "per-scope";
  if (!settings.per_scope && mode != "fixed") reader.fault("redis-users", "must be fixed or per-scope");
  settings.secret_file = reader.file("redis-users-secret-file");
  reader.require_use("redis-users-secret-file", settings.per_scope,
                     "has no use without --redis-users per-scope; leave it out");
  if (!settings.per_scope) return settings;
  if (!reader.value("counters").given) reader.fault("redis-users", "needs the Redis to make users in; add --counters");
  if (!reader.value("redis-users-secret-file").given) {
    reader.fault("redis-users", "needs a secret to make passwords from; add --redis-users-secret-file");
  }
  if (settings.secret_file.empty()) return settings;
  // Agents knew the fixed password, and could compute the passwords of all users from it.
  if (settings.secret_file == reader.value("agents-redis-password-file").text) {
    reader.fault("redis-users-secret-file",
                 "is the file of --agents-redis-password-file, which agents know; write "
                 "another secret into a file of its own");
  } else if (const auto secret = read_secret(settings.secret_file); !secret) {
    reader.fault("redis-users-secret-file", secret.error().text);
  }
  return settings;
}

}  // namespace sluice::server::redis_users
