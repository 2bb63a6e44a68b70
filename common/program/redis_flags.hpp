// Reads the flags that name the Redis server and its credentials.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/program/config_reader.hpp"
#include "common/program/flags.hpp"
#include "common/redis/client.hpp"

namespace sluice::program {

// Rows for the program's flag table. The program adds "counters" (the URL) and "redis-deadline" itself.
inline constexpr FlagSpec kRedisUser{"redis-user", "Counters", "NAME", "",
                                     "ACL user of Redis, instead of one in the URL. Default: that of the URL, else "
                                     "Redis' default user."};
inline constexpr FlagSpec kRedisPasswordFile{"redis-password-file", "Counters", "FILE", "",
                                             "File with the password of Redis. A change is used within a second or "
                                             "two, without a restart. Keeps the password out "
                                             "of the URL and the process list."};
inline constexpr FlagSpec kRedisSentinelPasswordFile{
    "redis-sentinel-password-file", "Counters", "FILE", "",
    "File with the password of the sentinels of redis+sentinel://. A change is used without a restart. The user and "
    "password in the URL are those of the data nodes."};
inline constexpr FlagSpec kRedisSentinelLoginFile{
    "redis-sentinel-login-file", "Counters", "FILE", "",
    "File with the ACL user of the sentinels on its first line and the password on its second, instead of "
    "--redis-sentinel-password-file."};
inline constexpr FlagSpec kRedisTlsCa{
    "redis-tls-ca", "Counters", "FILE", "",
    "CA certificates for rediss:// (PEM). A change is used without a restart. Default: those of the operating "
    "system."};
inline constexpr FlagSpec kRedisTlsCert{
    "redis-tls-cert", "Counters", "FILE", "",
    "Client certificate for rediss:// (PEM); needs --redis-tls-key. A change is used without a restart."};
inline constexpr FlagSpec kRedisTlsKey{"redis-tls-key", "Counters", "FILE", "",
                                       "Key of the client certificate (PEM); needs --redis-tls-cert."};
inline constexpr FlagSpec kInsecureRedis{
    "insecure-redis", "Counters", "", "false",
    "Allow a Redis on another machine without TLS (redis://…). Passwords and the names of subjects then cross the "
    "network in clear, and who is on the way can change counters."};

// The value of --counters that tells the program to work without Redis, and error texts.
struct WithoutRedis {
  std::string_view flag_value;    // such as "memory"; "" if the flag must be left out
  std::string_view invalid_text;  // for an invalid URL: "must be memory or the URL of a Redis"
  std::string_view useless_text;  // for a needless login: "has no use with --counters memory; leave it out"
};

// Returns nullopt if --counters has the `flag_value` of `without`. Records faults in `reader`.
std::optional<redis::Options> read_redis(ConfigReader& reader, const WithoutRedis& without);

// The first host of `target` on another machine that would be reached without TLS; "" if there is none.
std::string clear_text_host(const redis::Target& target);

// Records a fault of `flag`, which names `target`, if clear text would cross the network and --insecure-redis does not
// allow it.
void require_encryption(ConfigReader& reader, std::string_view flag, const redis::Target& target);

}  // namespace sluice::program
