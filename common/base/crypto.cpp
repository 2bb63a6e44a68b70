#include "common/base/crypto.hpp"

// OpenSSL 3 deprecates SHA256_Init() in favour of its EVP functions. But EVP functions allocate a context for each
// digest, which would take half the time of verifying an API key.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace sluice {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kBase62Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "sluice: %s failed; the program cannot continue safely\n", what);
  std::abort();
}

SHA256_CTX& as_context(auto& state) { return *reinterpret_cast<SHA256_CTX*>(state.data()); }

constexpr std::uint8_t kNoDigit = 0xFF;

constexpr std::array<std::uint8_t, 256> values_of(std::string_view digits) {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    values[static_cast<std::uint8_t>(digits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}

constexpr std::array<std::uint8_t, 256> kHexValues = [] {
  auto values = values_of(kHexDigits);
  for (std::uint8_t c = 'A'; c <= 'F'; ++c) values[c] = static_cast<std::uint8_t>(c - 'A' + 10);
  return values;
}();

}  // namespace

Sha256::Sha256() {
  static_assert(sizeof(SHA256_CTX) == sizeof state_ && alignof(SHA256_CTX) <= alignof(decltype(state_)));
  require(SHA256_Init(&as_context(state_)) == 1, "starting a SHA-256");
}

Sha256& Sha256::update(ByteView bytes) {
  require(SHA256_Update(&as_context(state_), bytes.data(), bytes.size()) == 1, "updating a SHA-256");
  return *this;
}

Sha256Digest Sha256::finish() {
  Sha256Digest digest;
  require(SHA256_Final(digest.data(), &as_context(state_)) == 1, "finishing a SHA-256");
  require(SHA256_Init(&as_context(state_)) == 1, "starting a SHA-256");
  return digest;
}

Sha256Digest sha256(std::string_view text) { return Sha256().update(text).finish(); }

Sha256Digest hmac_sha256(ByteView key, std::string_view text) {
  Sha256Digest digest;
  const ByteView message = as_bytes(text);
  const auto* const made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), message.data(), message.size(),
                                digest.data(), nullptr);
  require(made != nullptr, "computing an HMAC");
  return digest;
}

bool constant_time_equal(ByteView a, ByteView b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void random_bytes(std::span<std::uint8_t> out) {
  require(RAND_bytes(out.data(), static_cast<int>(out.size())) == 1, "reading random bytes");
}

void append_hex(ByteView bytes, std::string& out) {
  for (const std::uint8_t byte : bytes) {
    out.push_back(kHexDigits[byte >> 4]);
    out.push_back(kHexDigits[byte & 15]);
  }
}

std::string to_hex(ByteView bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  append_hex(bytes, text);
  return text;
}

bool from_hex(std::string_view text, std::span<std::uint8_t> out) {
  if (text.size() != out.size() * 2) return false;
  bool good = true;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint8_t high = kHexValues[static_cast<std::uint8_t>(text[2 * i])];
    const std::uint8_t low = kHexValues[static_cast<std::uint8_t>(text[2 * i + 1])];
    good = good && high != kNoDigit && low != kNoDigit;
    out[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return good;
}

std::optional<Bytes> from_hex(std::string_view text) {
  Bytes bytes(text.size() / 2);
  if (!from_hex(text, bytes)) return std::nullopt;
  return bytes;
}

std::string to_base64url(ByteView bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  unsigned count = 0;  // low bits of `bits` that are not written yet
  for (const std::uint8_t byte : bytes) {
    bits = (bits << 8 | byte) & 0x3FFF;
    for (count += 8; count >= 6; count -= 6) text.push_back(kBase64Digits[bits >> (count - 6) & 63]);
  }
  if (count > 0) text.push_back(kBase64Digits[bits << (6 - count) & 63]);
  return text;
}

std::optional<Bytes> from_base64url(std::string_view text) {
  static constexpr auto kValues = values_of(kBase64Digits);
  if (text.size() % 4 == 1) return std::nullopt;
  Bytes bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::uint8_t value = kValues[static_cast<std::uint8_t>(c)];
    if (value == kNoDigit) return std::nullopt;
    bits = (bits << 6 | value) & 0x3FFF;
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<std::uint8_t>(bits >> count));
    }
  }
  if ((bits & ((1U << count) - 1)) != 0) return std::nullopt;  // two texts must not mean the same bytes
  return bytes;
}

std::string to_base64(ByteView bytes) {
  std::string text = to_base64url(bytes);
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  return text.append((4 - text.size() % 4) % 4, '=');
}

std::optional<Bytes> from_base64(std::string_view text) {
  if (text.size() % 4 != 0 || text.find_first_of("-_") != std::string_view::npos) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  std::string url_safe(text);
  std::ranges::replace(url_safe, '+', '-');
  std::ranges::replace(url_safe, '/', '_');
  return from_base64url(url_safe);
}

std::string to_base62(ByteView bytes, std::size_t width) {
  // Long division by 62: each remainder is the next digit from the right.
  Bytes number(bytes.begin(), bytes.end());
  std::string text(width, kBase62Digits[0]);
  for (std::size_t place = width; place-- > 0;) {
    unsigned remainder = 0;
    for (std::uint8_t& byte : number) {
      const unsigned dividend = remainder << 8 | byte;
      byte = static_cast<std::uint8_t>(dividend / 62);
      remainder = dividend % 62;
    }
    text[place] = kBase62Digits[remainder];
  }
  require(std::ranges::all_of(number, [](std::uint8_t byte) { return byte == 0; }), "encoding in base 62");
  return text;
}

bool is_base62(std::string_view text) {
  static constexpr auto kValues = values_of(kBase62Digits);
  std::uint8_t bits = 0;  // of all values; no branch for each character, because each check runs this
  for (const char c : text) bits |= kValues[static_cast<std::uint8_t>(c)];
  return bits != kNoDigit;
}

std::uint32_t crc32(std::string_view text) {
  const uLong start = crc32_z(0, nullptr, 0);
  return static_cast<std::uint32_t>(crc32_z(start, as_bytes(text).data(), text.size()));
}

}  // namespace sluice
