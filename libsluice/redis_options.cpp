#include "libsluice/redis_options.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "libsluice/options.hpp"

namespace sluice::lib {

std::expected<redis::Options, v1::Status> redis_options(const v1::Redis& redis) {
  auto target = redis::parse_target(redis.url);
  if (!target) return refuse("redis.url", target.error().text);  // does not show the URL, which may contain a password
  const bool tls = redis.url.starts_with("rediss");
  const std::pair<const char*, const std::string&> files[] = {{"password_file", redis.password_file},
                                                              {"sentinel_password_file", redis.sentinel_password_file},
                                                              {"sentinel_login_file", redis.sentinel_login_file},
                                                              {"tls_ca_file", redis.tls_ca_file},
                                                              {"tls_cert_file", redis.tls_cert_file},
                                                              {"tls_key_file", redis.tls_key_file}};
  for (const auto& [option, file] : files) {
    if (file.empty()) continue;
    if (target->sentinels.empty() && std::string_view(option).starts_with("sentinel_")) {
      return refuse(fmt::format("redis.{}", option),
                    "has no use without sentinels: write redis+sentinel://HOST,HOST,HOST/NAME, or leave it out");
    }
    if (!tls && std::string_view(option).starts_with("tls_")) {
      return refuse(fmt::format("redis.{}", option), "has no use without TLS: write rediss://…, or leave it out");
    }
    if (v1::Status status = readable(fmt::format("redis.{}", option), file); !status.ok())
      return std::unexpected(std::move(status));
  }
  if (redis.tls_cert_file.empty() != redis.tls_key_file.empty()) {
    return refuse(redis.tls_cert_file.empty() ? "redis.tls_key_file" : "redis.tls_cert_file",
                  "a certificate and its key go together: name both or none");
  }
  const std::pair<const char*, net::TlsFiles> identities[] = {
      {"redis.tls_ca_file", {.ca = redis.tls_ca_file}},
      {"redis.tls_cert_file", {.chain = redis.tls_cert_file}},
      {"redis.tls_key_file", {.chain = redis.tls_cert_file, .key = redis.tls_key_file}}};
  for (const auto& [option, identity] : identities) {
    if (!tls) break;
    if (v1::Status status = tls_usable(option, identity); !status.ok()) return std::unexpected(std::move(status));
  }
  if (!redis.password_file.empty() && !target->password.empty()) {
    return refuse("redis.password_file", "is a second password: remove the one in the URL");
  }
  if (!redis.sentinel_password_file.empty() && !redis.sentinel_login_file.empty()) {
    return refuse("redis.sentinel_password_file",
                  "is a second password: sentinel_login_file has one, so remove one of them");
  }
  if (redis.deadline < std::chrono::milliseconds(1) || redis.deadline > std::chrono::milliseconds(10'000)) {
    return refuse("redis.deadline", fmt::format("must be from 1 ms to 10 s; got {} ms", redis.deadline.count()));
  }
  redis::Options options;
  options.target = *std::move(target);
  options.password_file = redis.password_file;
  options.sentinel_password_file = redis.sentinel_password_file;
  options.sentinel_login_file = redis.sentinel_login_file;
  options.tls_ca_file = redis.tls_ca_file;
  options.tls_cert_file = redis.tls_cert_file;
  options.tls_key_file = redis.tls_key_file;
  options.deadline = redis.deadline;
  options.queue_wait = std::max(options.queue_wait, redis.deadline);  // the first calls wait for the connection
  options.client_name = "sluice";
  return options;
}

}  // namespace sluice::lib
