#include "common/program/redis_flags.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace sluice::program {

using namespace std::chrono_literals;

std::string clear_text_host(const redis::Target& target) {
  if (target.transport != redis::Target::Transport::tcp) return {};
  const std::vector<redis::HostPort>& several = target.cluster.empty() ? target.sentinels : target.cluster;
  const auto found =
      std::ranges::find_if(several, [](const std::string& host) { return !is_loopback(host); }, &redis::HostPort::host);
  if (!several.empty()) return found == several.end() ? "" : found->host;
  return is_loopback(target.host) ? "" : target.host;
}

void require_encryption(ConfigReader& reader, std::string_view flag, const redis::Target& target) {
  const std::string host = clear_text_host(target);
  if (reader.boolean(kInsecureRedis.name) || host.empty()) return;
  reader.fault_without_value(
      flag, fmt::format("would send passwords and subjects across the network in clear, to {}; Redis on another "
                        "machine needs TLS: write rediss:// instead of redis://, or add --insecure-redis where the "
                        "network is trusted",
                        host));
}

std::optional<redis::Options> read_redis(ConfigReader& reader, const WithoutRedis& without) {
  const std::string& url = reader.value("counters").text;
  const bool none = url == without.flag_value;
  const bool tls = url.starts_with("rediss");
  const bool sentinel = url.starts_with("redis+sentinel:") || url.starts_with("rediss+sentinel:");
  redis::Options options;
  if (!none) {
    auto target = redis::parse_target(url);
    if (target) options.target = *std::move(target);
    // The URL may contain a password, so it is not shown.
    else
      reader.fault_without_value("counters", fmt::format("{}: {}", without.invalid_text, target.error().text));
  }
  require_encryption(reader, "counters", options.target);
  if (const program::FlagValue& user = reader.value("redis-user"); user.given) {
    if (!options.target.user.empty()) {
      reader.fault("redis-user", "is a second user; --counters already has one. Remove the one in the URL");
    }
    if (std::ranges::any_of(user.text, [](char c) { return c >= '\0' && c <= ' '; })) {
      reader.fault("redis-user", "must be a name without spaces and line ends");
    }
    options.target.user = user.text;
  }
  if (!options.target.password.empty()) reader.warn_of_password("counters", "the file of --redis-password-file");
  options.password_file = reader.file("redis-password-file");
  options.sentinel_password_file = reader.file("redis-sentinel-password-file");
  options.sentinel_login_file = reader.file("redis-sentinel-login-file");
  options.tls_ca_file = reader.file("redis-tls-ca");
  options.tls_cert_file = reader.file("redis-tls-cert");
  options.tls_key_file = reader.file("redis-tls-key");
  options.deadline = reader.duration("redis-deadline", 1ms, 10s, "1ms to 10s");

  for (const std::string_view flag : {"redis-user", "redis-password-file"}) {
    reader.require_use(flag, !none, without.useless_text);
  }
  for (const std::string_view flag : {"redis-tls-ca", "redis-tls-cert", "redis-tls-key"}) {
    reader.require_use(flag, tls, "has no use without TLS; write --counters rediss://… or leave it out");
  }
  reader.require_use("redis-tls-cert", !options.tls_key_file.empty(), "needs its key; add --redis-tls-key");
  reader.require_use("redis-tls-key", !options.tls_cert_file.empty(), "needs its certificate; add --redis-tls-cert");
  if (!options.password_file.empty() && !options.target.password.empty()) {
    reader.fault("redis-password-file",
                 "is a second password; --counters already has one. Remove the one in the URL: rediss://USER:@HOST");
  }
  for (const std::string_view flag : {"redis-sentinel-password-file", "redis-sentinel-login-file"}) {
    reader.require_use(
        flag, sentinel,
        "has no use without sentinels; write --counters redis+sentinel://HOST,HOST,HOST/NAME or leave it "
        "out");
  }
  reader.require_use("redis-sentinel-password-file", options.sentinel_login_file.empty(),
                     "is a second password; --redis-sentinel-login-file already has one. Remove one of them");
  if (none) return std::nullopt;
  return options;
}

}  // namespace sluice::program
