// The flags about Redis users for agents.
#pragma once

#include <string>

#include "common/program/config_reader.hpp"
#include "common/program/flags.hpp"

namespace sluice::server::redis_users {

using program::FlagSpec;

inline constexpr FlagSpec kRedisUsers{
    "redis-users", "Agents", "MODE", "fixed",
    "How agents with --redis-password-from-server use Redis. fixed: all get --agents-redis-user. per-scope: the server "
    "makes a Redis user for each agent token and binding, which reaches the counters of its tenants only; needs "
    "--counters and --redis-users-secret-file."};
inline constexpr FlagSpec kRedisUsersSecretFile{
    "redis-users-secret-file", "Agents", "FILE", "",
    "File with the secret that the passwords of these users are made from: 32 to 4096 bytes, the same for all servers, "
    "known to nobody else. Read again when it changes. Needs --redis-users per-scope."};

struct Settings {
  bool per_scope = false;
  std::string secret_file;  // with per_scope
};

// REQUIRES: the flags counters and agents-redis-password-file are specified too.
Settings read_settings(program::ConfigReader& reader);

}  // namespace sluice::server::redis_users
