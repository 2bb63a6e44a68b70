// Makes, parses and verifies credentials: API keys (`slk_<id>_<secret>`), admin tokens (`sla_…`) and agent tokens
// (`slg_…`). In the names of this file a key is a credential of any kind.
//
// A secret is 43 base-62 digits (32 random bytes), then 6 digits with the CRC-32 of everything before them. The
// checksum shows mistyped tokens without a database query, and helps scanners to recognise leaked secrets. Only a
// salted hash of the secret is stored. A fast hash (SHA-256) is enough, because nobody can guess 256 random bits.
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
inline constexpr std::size_t kSaltBytes = 16;                                // of new hashes

// Views into the text that was split.
struct PresentedKey {
  std::string_view id;
  std::string_view secret;  // with its checksum
};

enum class CredentialKind : std::uint8_t { api_key, admin_token, agent_token };

// Splits a credential and checks its form, but not its checksum, because verify() finds any wrong digit. Does not
// allocate.
std::optional<PresentedKey> split_key(std::string_view key, CredentialKind kind = CredentialKind::api_key);

// Like split_key, but also checks the checksum.
std::optional<PresentedKey> parse_key(std::string_view key, CredentialKind kind = CredentialKind::api_key);

// REQUIRES: is_id(id).
std::string mint_key(std::string_view id, CredentialKind kind = CredentialKind::api_key);

// What is wrong with a credential. An id that exists and one that does not are told apart only to a caller who has the
// secret.
enum class CredentialFault : std::uint8_t {
  missing,
  malformed,   // also a mistyped one, because its checksum does not fit
  wrong_kind,  // such as an admin token where an API key is required
  expired,     // the secret is right
  unknown,     // everything else: no such id, a wrong secret, a revoked credential
};
std::string_view to_string(CredentialFault fault);  // the `code` of a 401

// REQUIRES: `presented` has not the form of a credential of the kind `wanted`.
CredentialFault fault_of_form(std::string_view presented, CredentialKind wanted);

// "sha256:<salt hex>:<hex of SHA-256(salt ‖ secret)>".
std::string hash_secret(std::string_view secret, ByteView salt);
// Hashes with a random salt.
std::string hash_secret(std::string_view secret);

struct KeyHash {
  static constexpr std::size_t kMinSalt = 8;
  static constexpr std::size_t kMaxSalt = 32;

  std::array<std::uint8_t, kMaxSalt> salt{};
  std::uint8_t salt_size = 0;
  Sha256Digest digest{};

  bool operator==(const KeyHash&) const = default;
};

// Reads the text that hash_secret() writes, with a salt of 8 to 32 bytes.
std::optional<KeyHash> parse_key_hash(std::string_view text);

// Compares the digests in constant time.
bool verify(const KeyHash& hash, std::string_view secret);

// A hash that matches no secret. Callers verify against it when the id is unknown, so that the response time does not
// reveal whether an id exists.
const KeyHash& dummy_key_hash();

}  // namespace sluice
