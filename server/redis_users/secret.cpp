#include "server/redis_users/secret.hpp"

#include <fmt/core.h>

#include "common/redis/credentials.hpp"

namespace sluice::server::redis_users {
namespace {

constexpr std::string_view kBindingMark = "binding:";  // AgentCaller::token_id of a pod
constexpr std::size_t kGenerationBytes = 8;

}  // namespace

Result<Secret> read_secret(const std::string& path) {
  Result<std::string> text = redis::read_password_file(path);
  if (!text) return std::unexpected(std::move(text.error()));
  if (text->size() < kMinSecretBytes) {
    return failure("credentials", fmt::format("has {} bytes and must have at least {}: make one with "
                                              "\"openssl rand -hex 32\"",
                                              text->size(), kMinSecretBytes));
  }
  Secret secret;
  secret.key.assign(text->begin(), text->end());
  const Sha256Digest name = hmac_sha256(secret.key, "sluice redis users: generation");
  secret.generation = to_hex(ByteView(name).first(kGenerationBytes));
  return secret;
}

std::string user_name(std::string_view token_id) {
  if (token_id.starts_with(kBindingMark)) {
    return fmt::format("{}b-{}", kUserPrefix, token_id.substr(kBindingMark.size()));
  }
  return fmt::format("{}t-{}", kUserPrefix, token_id);
}

// No part contains a NUL, so different users have different texts.
std::string password_of(const Secret& secret, const sync::AgentCaller& caller) {
  std::string text("sluice redis users: password");
  const auto add = [&text](std::string_view part) { text.append(1, '\0').append(part); };
  add(user_name(caller.token_id));
  add(caller.namespace_);
  add(caller.organization_id);
  for (const std::string& tenant : caller.tenant_ids) add(tenant);
  return to_base64url(hmac_sha256(secret.key, text));
}

std::string password_hash(std::string_view password) { return "#" + to_hex(sha256(password)); }

}  // namespace sluice::server::redis_users
