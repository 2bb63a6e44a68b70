// Hashes, random bytes, and bytes as text (hex, base64, base62).
//
// Thread safety: all functions may be called from any thread; a Sha256 object belongs to one thread at a time.
// Failures of OpenSSL end the process, because continuing would mean predictable keys or a missing hash.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;
using Sha256Digest = std::array<std::uint8_t, 32>;

inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// SHA-256 of input that arrives in pieces. finish() also resets the object. Never allocates.
class Sha256 {
 public:
  Sha256();

  Sha256& update(ByteView bytes);
  Sha256& update(std::string_view text) { return update(as_bytes(text)); }
  Sha256Digest finish();

 private:
  std::array<std::uint32_t, 28> state_;  // OpenSSL's SHA256_CTX
};

Sha256Digest sha256(std::string_view text);

// RFC 2104, with SHA-256.
Sha256Digest hmac_sha256(ByteView key, std::string_view text);

// The time depends on the lengths only, never on the content.
bool constant_time_equal(ByteView a, ByteView b);

// Random enough for secret keys.
void random_bytes(std::span<std::uint8_t> out);

// Lower-case hex digits.
std::string to_hex(ByteView bytes);
void append_hex(ByteView bytes, std::string& out);
// Accepts upper and lower case.
std::optional<Bytes> from_hex(std::string_view text);
// Returns false if `text` is not hex for exactly out.size() bytes. The content of `out` is then undefined.
bool from_hex(std::string_view text, std::span<std::uint8_t> out);

// RFC 4648 section 5 (URL-safe alphabet), without padding.
std::string to_base64url(ByteView bytes);
// Strict: exactly one text is accepted for each sequence of bytes.
std::optional<Bytes> from_base64url(std::string_view text);

// RFC 4648 section 4 (standard alphabet), with padding.
std::string to_base64(ByteView bytes);
// As strict as from_base64url. Padding is required.
std::optional<Bytes> from_base64(std::string_view text);

// The bytes as one big-endian number in base 62 (digits 0-9A-Za-z), padded on the left with zeros to `width` digits.
// REQUIRES: 62^width > 256^bytes.size(). For example 43 digits hold 32 bytes.
std::string to_base62(ByteView bytes, std::size_t width);
bool is_base62(std::string_view text);

// CRC-32 as zlib and PNG use it (polynomial 0x04C11DB7, reflected).
std::uint32_t crc32(std::string_view text);

}  // namespace sluice
