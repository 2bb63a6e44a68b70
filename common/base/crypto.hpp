// Hashes, random bytes and the text forms of bytes.
//
// Thread safety: all functions may be called from any thread; a Sha256 object belongs to one thread at a time.
// There is nothing a caller could do when the operating system has no randomness: the program ends then, with a text on
// stderr. It never continues with predictable bytes.
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

// A SHA-256 in parts. Reusable: finish() gives the digest and begins anew. Never allocates.
class Sha256 {
 public:
  Sha256();

  Sha256& update(ByteView bytes);
  Sha256& update(std::string_view text) { return update(as_bytes(text)); }
  Sha256Digest finish();

 private:
  std::array<std::uint32_t, 28> state_;  // OpenSSL's
};

Sha256Digest sha256(std::string_view text);

// Equal in length and content; the time depends on the lengths only.
bool constant_time_equal(ByteView a, ByteView b);

// Fills `out` from the operating system's generator; fit for keys.
void random_bytes(std::span<std::uint8_t> out);

// Lower case.
std::string to_hex(ByteView bytes);
void append_hex(ByteView bytes, std::string& out);
// Either case. Nothing for an odd length or another character.
std::optional<Bytes> from_hex(std::string_view text);
// As from_hex, into memory of the caller: false unless `text` is exactly out.size() bytes in hex.
bool from_hex(std::string_view text, std::span<std::uint8_t> out);

// RFC 4648 section 5, no padding.
std::string to_base64url(ByteView bytes);
// Strict: nothing for padding, other characters, an impossible length, or unused bits that are not zero; so every
// sequence of bytes has exactly one text that is accepted.
std::optional<Bytes> from_base64url(std::string_view text);

// RFC 4648 section 4, padded: as Kubernetes writes bytes in JSON.
std::string to_base64(ByteView bytes);
// As strict as from_base64url; the padding must be there.
std::optional<Bytes> from_base64(std::string_view text);

// The bytes as one big-endian number in base 62 (digits 0-9A-Za-z), zero-padded on the left to `width` digits.
// REQUIRES: 62^width > 256^bytes.size(): 43 digits hold 32 bytes, 6 digits hold 4.
std::string to_base62(ByteView bytes, std::size_t width);
bool is_base62(std::string_view text);

// CRC-32 as of zlib and PNG (polynomial 0x04C11DB7, reflected). Finds mistakes, not malice.
std::uint32_t crc32(std::string_view text);

}  // namespace sluice
