// The flags that say where Redis is, the same in every program.
#pragma once

#include <optional>
#include <string_view>

#include "common/program/config_reader.hpp"
#include "common/program/flags.hpp"
#include "common/redis/client.hpp"

namespace sluice::program {

// For the program's flag table, beside "counters" (the URL) and "redis-deadline", whose help texts differ by program.
inline constexpr FlagSpec kRedisPasswordFile{
    "redis-password-file", "Counters", "FILE", "",
    "File with the password of Redis, read at each connect. Keeps the password out of the URL and the process list."};
inline constexpr FlagSpec kRedisTlsCa{"redis-tls-ca", "Counters", "FILE", "",
                                      "CA certificates for rediss:// (PEM). Default: those of the operating system."};
inline constexpr FlagSpec kRedisTlsCert{"redis-tls-cert", "Counters", "FILE", "",
                                        "Client certificate for rediss:// (PEM); needs --redis-tls-key."};
inline constexpr FlagSpec kRedisTlsKey{"redis-tls-key", "Counters", "FILE", "",
                                       "Key of the client certificate (PEM); needs --redis-tls-cert."};

// How a program is told to work without Redis, and the words for it in texts of faults.
struct WithoutRedis {
  std::string_view value;  // the value of --counters for this: "memory"; "": the flag is left out
  std::string_view
      rule;  // what --counters must be: "must be memory or the URL of a Redis"; the fault of the URL is appended
  std::string_view use;  // why a password is wrong then: "has no use with --counters memory; leave it out"
};

// Reads all Redis flags. nullopt if --counters says that there is no Redis, or if it is faulty.
std::optional<redis::Options> read_redis(ConfigReader& reader, const WithoutRedis& without);

}  // namespace sluice::program
