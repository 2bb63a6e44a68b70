// The flags about reviews of agents' tokens and about the Redis login for agents.
#pragma once

#include <string>

#include "common/program/config_reader.hpp"
#include "common/program/flags.hpp"
#include "server/identity/reviewer.hpp"

namespace sluice::server::identity {

using program::FlagSpec;

inline constexpr FlagSpec kTokenAudience{
    "token-audience", "Agents", "TEXT", "sluice",
    "The audience that the tokens of agents' service accounts must have. Needs --kubernetes."};
inline constexpr FlagSpec kTokenReviewCache{
    "token-review-cache", "Agents", "DURATION", "45s",
    "How long the server caches Kubernetes' answer that an agent's token is valid: 1s to 60s. A revoked token keeps "
    "working for up to this time and 10s more, because Kubernetes caches its answers for 10s. Needs --kubernetes."};
inline constexpr FlagSpec kAgentsRedisUser{"agents-redis-user", "Agents", "NAME", "",
                                           "Redis user for agents with --redis-password-from-server; \"\" is the "
                                           "default user. Needs --agents-redis-password-file."};
inline constexpr FlagSpec kAgentsRedisPasswordFile{
    "agents-redis-password-file", "Agents", "FILE", "",
    "File with the password of --agents-redis-user, read each time that an agent asks for it. Without this flag the "
    "server gives agents no login."};

struct IdentitySettings {
  ReviewOptions review;
  std::string agents_redis_user;
  std::string agents_redis_password_file;  // if "", agents get no login
};

IdentitySettings read_identity(program::ConfigReader& reader);

}  // namespace sluice::server::identity
