// The flags by which a program is told where its Redis is: the same for all of them.
#pragma once

#include <optional>
#include <string_view>

#include "common/program/config_reader.hpp"
#include "common/program/flags.hpp"
#include "common/redis/client.hpp"

namespace sluice::program {

// To stand in the program's table beside "counters" (the URL) and "redis-deadline", whose texts are its own.
inline constexpr FlagSpec kRedisPasswordFile{
    "redis-password-file", "Counters", "FILE", "",
    "File with Redis' password, read at each connect. Keeps the password out of the URL and the process list."};
inline constexpr FlagSpec kRedisTlsCa{"redis-tls-ca", "Counters", "FILE", "",
                                      "CA certificates for rediss:// (PEM). Default: the system's."};
inline constexpr FlagSpec kRedisTlsCert{"redis-tls-cert", "Counters", "FILE", "",
                                        "Client certificate for rediss:// (PEM); needs --redis-tls-key."};
inline constexpr FlagSpec kRedisTlsKey{"redis-tls-key", "Counters", "FILE", "",
                                       "Key of the client certificate (PEM); needs --redis-tls-cert."};

// What a program has where it has no Redis.
struct WithoutRedis {
  std::string_view value;  // of --counters: "memory", or "" for a flag that is left out
  std::string_view rule;   // of --counters, completed by what is wrong with the URL: "must be memory or the URL of a Redis"
  std::string_view use;    // why a password is no use then: "has no use with --counters memory; leave it out"
};

// Nothing where --counters says that there is no Redis.
std::optional<redis::Options> read_redis(ConfigReader& reader, const WithoutRedis& without);

}  // namespace sluice::program
