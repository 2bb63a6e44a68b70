// Makes, parses and verifies credentials: API keys (`slk_<id>_<secret>`), admin tokens (`sla_…`) and agent tokens
// (`slg_…`). In the names of this file a key is a credential of any kind.
//
// A secret is 43 base-62 digits (32 random bytes), then 6 digits with the CRC-32 of everything before them. With the
// checksum a server refuses mistyped and cut-off tokens before it queries PostgreSQL, and secret scanners recognise
// leaked credentials. The checksum does not protect a credential. Only a salted hash of the secret is stored. A fast
// hash (SHA-256) is enough, because nobody can guess 256 random bits.
//
// Thread safety: all functions may be called from any thread. They are pure, except that mint_key and
// hash_secret(secret) draw random bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/crypto.hpp"
#include "common/domain/identifiers.hpp"

namespace sluice {

inline constexpr std::size_t kSecretDigits = 49;
inline constexpr std::size_t kMaxKey = 4 + kMaxIdBytes + 1 + kSecretDigits;  // longest "slk_<id>_<secret>"
inline constexpr std::size_t kSaltBytes = 16;                                // length of the salt of new hashes

// A credential of any kind as it was presented: views into the text that was split.
struct PresentedKey {
  std::string_view id;
  std::string_view secret;  // with its checksum
};

// The kinds of credential. The first four characters of a credential tell its kind.
enum class CredentialKind : std::uint8_t { api_key, admin_token, agent_token };

// Splits a credential and checks its form, but not its checksum. This is enough before verify(), because verify() finds
// any wrong digit. Does not allocate.
std::optional<PresentedKey> split_key(std::string_view key, CredentialKind kind = CredentialKind::api_key);

// Splits a credential and checks its form and its checksum. Does not allocate.
std::optional<PresentedKey> parse_key(std::string_view key, CredentialKind kind = CredentialKind::api_key);

// A new credential with a random secret. REQUIRES: is_id(id).
std::string mint_key(std::string_view id, CredentialKind kind = CredentialKind::api_key);

// "sha256:<salt hex>:<hex of SHA-256(salt ‖ secret)>", as a bundle stores it.
std::string hash_secret(std::string_view secret, ByteView salt);
// Hashes with a random salt of kSaltBytes.
std::string hash_secret(std::string_view secret);

// A stored hash in binary form. An agent parses it once, when it loads the key.
struct KeyHash {
  static constexpr std::size_t kMinSalt = 8;
  static constexpr std::size_t kMaxSalt = 32;

  std::array<std::uint8_t, kMaxSalt> salt{};
  std::uint8_t salt_size = 0;
  Sha256Digest digest{};

  bool operator==(const KeyHash&) const = default;
};

// Reads "sha256:<salt hex>:<digest hex>": a salt of 8 to 32 bytes, a digest of 32 bytes.
std::optional<KeyHash> parse_key_hash(std::string_view text);

// Whether `hash` is the hash of `secret`. Compares the digests in constant time.
bool verify(const KeyHash& hash, std::string_view secret);

// A hash that matches no secret. The caller verifies against it when the id is unknown, so the response time does not
// reveal whether an id exists.
const KeyHash& dummy_key_hash();

}  // namespace sluice
