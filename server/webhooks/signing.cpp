#include "server/webhooks/signing.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include <fmt/core.h>

namespace sluice::server::webhooks {
namespace {

constexpr std::string_view kSecretPrefix = "whsec_";
constexpr std::size_t kNameBytes = 8;
constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kMaxKeyBytes = 4096;

Sha256Digest secret_bytes(const Key& key, std::string_view tenant_id, std::string_view webhook_id,
                          std::string_view salt) {
  // No part contains a NUL, so different webhooks have different texts.
  std::string text("sluice webhooks: secret");
  for (const std::string_view part : {tenant_id, webhook_id, salt}) text.append(1, '\0').append(part);
  return hmac_sha256(key.bytes, text);
}

Key key_of(std::string_view line) {
  Key key{.bytes = Bytes(line.begin(), line.end()), .name = {}};
  const Sha256Digest name = hmac_sha256(key.bytes, "sluice webhooks: name");
  key.name = to_hex(ByteView(name).first(kNameBytes));
  return key;
}

}  // namespace

const Key* Keys::find(std::string_view name) const {
  const auto found = std::ranges::find(keys, name, &Key::name);
  return found == keys.end() ? nullptr : &*found;
}

Result<Keys> read_keys(const std::string& path) {
  std::ifstream file(path);
  if (!file) return failure("credentials", "cannot be read");
  Keys found;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    if (line.size() < kMinKeyBytes || line.size() > kMaxKeyBytes) {
      return failure("credentials", fmt::format("has a line of {} bytes and must have {} to {} in each: make one with "
                                                "\"openssl rand -hex 32\"",
                                                line.size(), kMinKeyBytes, kMaxKeyBytes));
    }
    if (found.keys.size() == kMaxKeys) {
      return failure("credentials", fmt::format("has more than {} lines: remove the oldest, at the end", kMaxKeys));
    }
    found.keys.push_back(key_of(line));
  }
  if (found.keys.empty()) {
    return failure("credentials", "is empty: write a key into it, made with \"openssl rand -hex 32\"");
  }
  return found;
}

SecretRef new_secret(const Keys& keys) {
  std::array<std::uint8_t, kSaltBytes> salt;
  random_bytes(salt);
  return {.key_name = keys.newest().name, .salt = to_hex(salt)};
}

std::string secret_text(const Key& key, std::string_view tenant_id, std::string_view webhook_id,
                        std::string_view salt) {
  return std::string(kSecretPrefix) + to_base64(secret_bytes(key, tenant_id, webhook_id, salt));
}

std::string signatures(std::span<const std::string> secret_texts, std::string_view event_id, std::int64_t time_s,
                       std::string_view body) {
  const std::string signed_text = fmt::format("{}.{}.{}", event_id, time_s, body);
  std::string all;
  for (const std::string_view text : secret_texts) {
    const auto key = from_base64(text.substr(kSecretPrefix.size()));
    all.append(all.empty() ? "" : " ").append("v1,").append(to_base64(hmac_sha256(*key, signed_text)));
  }
  return all;
}

}  // namespace sluice::server::webhooks
