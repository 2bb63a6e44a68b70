// The secrets that deliveries are signed with, and the signatures (Standard Webhooks: HMAC-SHA256 over id, time, body).
//
// A secret must be known whenever a delivery is signed, but the database does not hold it: the server computes it from
// a key that stands in a file and a random salt that stands in the webhook's row. So neither a copy of the database nor
// the file alone can sign. All servers with the same file compute the same secrets.
//
// Thread safety: pure functions, except read_keys().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/crypto.hpp"
#include "common/base/error.hpp"

namespace sluice::server::webhooks {

inline constexpr std::size_t kMinKeyBytes = 32;
inline constexpr std::size_t kMaxKeys = 8;

struct Key {
  Bytes bytes;
  std::string name;  // tells nothing about the key; the rows name it
};

// The keys of the file. The first one makes new secrets; the others serve the secrets that were made with them.
struct Keys {
  std::vector<Key> keys;

  const Key& newest() const { return keys.front(); }
  const Key* find(std::string_view name) const;  // nullptr: not in the file
};

// One key a line. Blocks on a small local file. Error `credentials`; the text completes the sentence "the file …", and
// holds nothing of the file.
Result<Keys> read_keys(const std::string& path);

// What a row says about a secret.
struct SecretRef {
  std::string key_name;
  std::string salt;

  bool operator==(const SecretRef&) const = default;
};
SecretRef new_secret(const Keys& keys);

// "whsec_" and 32 bytes in base64. REQUIRES: `key` is the one that the SecretRef names.
std::string secret_text(const Key& key, std::string_view tenant_id, std::string_view webhook_id, std::string_view salt);

// The value of the header webhook-signature: "v1,BASE64" for each secret, with spaces between.
std::string signatures(std::span<const std::string> secret_texts, std::string_view event_id, std::int64_t time_s,
                       std::string_view body);

}  // namespace sluice::server::webhooks
