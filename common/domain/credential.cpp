#include "common/domain/credential.hpp"

namespace sluice {
namespace {

constexpr std::size_t kPrefixSize = 4;
constexpr std::array<std::string_view, 3> kPrefixes{"slk_", "sla_", "slg_"};  // indexed by CredentialKind
constexpr std::string_view kHashPrefix = "sha256:";
constexpr std::size_t kRandomBytes = 32;
constexpr std::size_t kRandomDigits = 43;
constexpr std::size_t kChecksumDigits = kSecretDigits - kRandomDigits;

std::uint32_t checksum_of(std::string_view key_without_checksum) { return crc32(key_without_checksum); }

std::array<std::uint8_t, 4> big_endian(std::uint32_t value) {
  return {static_cast<std::uint8_t>(value >> 24), static_cast<std::uint8_t>(value >> 16),
          static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
}

std::string_view prefix_of(CredentialKind kind) { return kPrefixes[static_cast<std::size_t>(kind)]; }

std::uint64_t base62_value(std::string_view digits) {
  std::uint64_t value = 0;
  for (const char c : digits) {
    const int digit = c <= '9' ? c - '0' : c <= 'Z' ? c - 'A' + 10 : c - 'a' + 36;
    value = value * 62 + static_cast<std::uint64_t>(digit);
  }
  return value;
}

}  // namespace

std::optional<PresentedKey> split_key(std::string_view key, CredentialKind kind) {
  // Ids and base-62 digits contain no underscore, so the second underscore of a key separates id and secret.
  if (!key.starts_with(prefix_of(kind)) || key.size() > kMaxKey || key.size() < kPrefixSize + 2 + kSecretDigits) {
    return std::nullopt;
  }
  const std::size_t id_size = key.size() - kPrefixSize - 1 - kSecretDigits;
  const PresentedKey presented{key.substr(kPrefixSize, id_size), key.substr(key.size() - kSecretDigits)};
  if (key[kPrefixSize + id_size] != '_' || !is_id(presented.id) || !is_base62(presented.secret)) {
    return std::nullopt;
  }
  return presented;
}

std::optional<PresentedKey> parse_key(std::string_view key, CredentialKind kind) {
  const auto presented = split_key(key, kind);
  if (!presented) return std::nullopt;
  const std::string_view covered = key.substr(0, key.size() - kChecksumDigits);
  if (base62_value(presented->secret.substr(kRandomDigits)) != checksum_of(covered)) return std::nullopt;
  return presented;
}

std::string mint_key(std::string_view id, CredentialKind kind) {
  std::array<std::uint8_t, kRandomBytes> random;
  random_bytes(random);
  std::string key(prefix_of(kind));
  key.append(id).append("_").append(to_base62(random, kRandomDigits));
  return key.append(to_base62(big_endian(checksum_of(key)), kChecksumDigits));
}

std::string_view to_string(CredentialFault fault) {
  switch (fault) {
    case CredentialFault::missing:
      return "missing";
    case CredentialFault::malformed:
      return "malformed";
    case CredentialFault::wrong_kind:
      return "wrong_kind";
    case CredentialFault::expired:
      return "expired";
    case CredentialFault::unknown:
      break;
  }
  return "unknown";
}

CredentialFault fault_of_form(std::string_view presented, CredentialKind wanted) {
  if (presented.empty()) return CredentialFault::missing;
  for (const CredentialKind kind :
       {CredentialKind::api_key, CredentialKind::admin_token, CredentialKind::agent_token}) {
    if (kind != wanted && split_key(presented, kind)) return CredentialFault::wrong_kind;
  }
  return CredentialFault::malformed;
}

std::string hash_secret(std::string_view secret, ByteView salt) {
  Sha256 hash;
  const Sha256Digest digest = hash.update(salt).update(secret).finish();
  std::string text(kHashPrefix);
  append_hex(salt, text);
  text.push_back(':');
  append_hex(digest, text);
  return text;
}

std::string hash_secret(std::string_view secret) {
  std::array<std::uint8_t, kSaltBytes> salt;
  random_bytes(salt);
  return hash_secret(secret, salt);
}

std::optional<KeyHash> parse_key_hash(std::string_view text) {
  if (!text.starts_with(kHashPrefix)) return std::nullopt;
  text.remove_prefix(kHashPrefix.size());
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon % 2 != 0) return std::nullopt;
  const std::size_t salt_size = colon / 2;
  if (salt_size < KeyHash::kMinSalt || salt_size > KeyHash::kMaxSalt) return std::nullopt;
  KeyHash hash;
  hash.salt_size = static_cast<std::uint8_t>(salt_size);
  if (!from_hex(text.substr(0, colon), std::span(hash.salt).first(salt_size))) return std::nullopt;
  if (!from_hex(text.substr(colon + 1), hash.digest)) return std::nullopt;
  return hash;
}

bool verify(const KeyHash& hash, std::string_view secret) {
  const Sha256Digest digest = Sha256().update(ByteView(hash.salt).first(hash.salt_size)).update(secret).finish();
  return constant_time_equal(digest, hash.digest);
}

const KeyHash& dummy_key_hash() {
  // The salt is as long as that of a real hash, so that verifying takes equally long. No known secret has this digest.
  static constexpr KeyHash kDummy{.salt = {}, .salt_size = kSaltBytes, .digest = {}};
  return kDummy;
}

}  // namespace sluice
