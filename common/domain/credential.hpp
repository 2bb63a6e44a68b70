// API keys, `slk_<id>_<secret>`, and the tokens of admins (`sla_…`) and agents (`slg_…`): how they look, how they are
// made, and how a presented one is verified.
//
// The secret is 43 base-62 digits (32 random bytes) and 6 more that are the CRC-32 of everything before them. The
// checksum refuses mistyped and cut-off keys before any look-up, and lets scanners tell a leaked key from noise; it is
// no protection. Only a salted hash of the secret is stored. The secret carries 256 random bits, so a quick hash is
// enough: there is nothing to guess.
//
// Thread safety: plain functions and values.
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
inline constexpr std::size_t kSaltBytes = 16;                                // of hashes we make

// A key as a caller sent it; views into the caller's text.
struct PresentedKey {
  std::string_view id;
  std::string_view secret;  // with its checksum
};

// What a credential opens; its first four characters say so.
enum class CredentialKind : std::uint8_t { api_key, admin_token, agent_token };

// Splits a credential and checks its form, not its checksum: whoever verifies the secret needs none. Does not allocate.
std::optional<PresentedKey> split_key(std::string_view key, CredentialKind kind = CredentialKind::api_key);

// Splits a credential and checks its form and checksum. Nothing for anything else; does not allocate.
std::optional<PresentedKey> parse_key(std::string_view key, CredentialKind kind = CredentialKind::api_key);

// A new one. REQUIRES: is_id(id).
std::string mint_key(std::string_view id, CredentialKind kind = CredentialKind::api_key);

// "sha256:<salt hex>:<hex of SHA-256(salt ‖ secret)>", as a bundle stores it.
std::string hash_secret(std::string_view secret, ByteView salt);
// With a fresh salt of kSaltBytes.
std::string hash_secret(std::string_view secret);

// A stored hash, read once when a bundle is loaded.
struct KeyHash {
  static constexpr std::size_t kMinSalt = 8;
  static constexpr std::size_t kMaxSalt = 32;

  std::array<std::uint8_t, kMaxSalt> salt{};
  std::uint8_t salt_size = 0;
  Sha256Digest digest{};

  bool operator==(const KeyHash&) const = default;
};

// Reads "sha256:<salt hex>:<hex>": a salt of 8 to 32 bytes, a digest of 32. Nothing for anything else.
std::optional<KeyHash> parse_key_hash(std::string_view text);

// Is this the hash of `secret`? Constant time in what it compares.
bool verify(const KeyHash& hash, std::string_view secret);

// A hash that no secret has. Verifying against it makes a call with an unknown id cost what one with a known id costs.
const KeyHash& dummy_key_hash();

}  // namespace sluice
