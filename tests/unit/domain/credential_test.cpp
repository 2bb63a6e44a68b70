#include "common/domain/credential.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace sluice;

namespace {

// The base-62 alphabet: what a typing mistake could put in place of a character.
constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

// Made by another program (zlib's CRC-32): the format may never change under keys already given out.
constexpr std::string_view kGolden = "slk_k1_0Eoh211G4c8wtVWM00my5rsNSFlKgaWqQ4mb8gdEqno0IXpf9";

}  // namespace

TEST_CASE("A minted key has the documented form and parses into its id and secret") {
  const std::string key = mint_key("prod-app.1");
  REQUIRE(key.size() == 4 + 10 + 1 + 49);
  CHECK(key.starts_with("slk_prod-app.1_"));
  const auto presented = parse_key(key);
  REQUIRE(presented.has_value());
  CHECK(presented->id == "prod-app.1");
  CHECK(presented->secret == key.substr(15));
  CHECK(is_base62(presented->secret));
}

TEST_CASE("Keys of the shortest and the longest id work") {
  for (const std::size_t size : {std::size_t{1}, kMaxIdBytes}) {
    const std::string id(size, 'k');
    const std::string key = mint_key(id);
    const auto presented = parse_key(key);
    REQUIRE(presented.has_value());
    CHECK(presented->id == id);
  }
  CHECK(mint_key(std::string(kMaxIdBytes, 'k')).size() == kMaxKey);
}

TEST_CASE("No two minted keys share a secret") {
  std::set<std::string> secrets;
  for (int i = 0; i < 500; ++i) CHECK(secrets.insert(std::string(parse_key(mint_key("k"))->secret)).second);
}

TEST_CASE("A key made by another program to the documented format is accepted") {
  const auto presented = parse_key(kGolden);
  REQUIRE(presented.has_value());
  CHECK(presented->id == "k1");
}

TEST_CASE("A key with any one character changed is refused before a look-up") {
  const std::string key = mint_key("k1");
  for (std::size_t i = 0; i < key.size(); ++i) {
    for (const char c : kDigits) {
      if (key[i] == c) continue;
      std::string wrong = key;
      wrong[i] = c;
      CAPTURE(wrong);
      CHECK_FALSE(parse_key(wrong).has_value());
    }
  }
}

TEST_CASE("A key cut off or grown anywhere is refused") {
  const std::string key = mint_key("k1");
  for (std::size_t size = 0; size < key.size(); ++size) CHECK_FALSE(parse_key(key.substr(0, size)).has_value());
  for (std::size_t cut = 1; cut < key.size(); ++cut) CHECK_FALSE(parse_key(key.substr(cut)).has_value());
  CHECK_FALSE(parse_key(key + "0").has_value());
  CHECK_FALSE(parse_key(" " + key).has_value());
  CHECK_FALSE(parse_key(key + "\n").has_value());
  CHECK_FALSE(parse_key(key + std::string(100'000, 'A')).has_value());
}

TEST_CASE("Two neighbouring characters swapped are found by the checksum") {
  const std::string key = mint_key("k1");
  for (std::size_t i = 7; i + 1 < key.size(); ++i) {
    if (key[i] == key[i + 1]) continue;
    std::string wrong = key;
    std::swap(wrong[i], wrong[i + 1]);
    CHECK_FALSE(parse_key(wrong).has_value());
  }
}

TEST_CASE("The checksum covers the id: a secret does not move to another id") {
  const std::string key = mint_key("k1");
  CHECK_FALSE(parse_key("slk_k2_" + key.substr(7)).has_value());
}

TEST_CASE("Characters outside an id or base 62 are refused even with a right checksum") {
  // A checksum made for exactly this text, so that nothing but the form can refuse it.
  const auto sealed = [](std::string text) {
    const std::uint32_t crc = crc32(text);
    const Bytes bytes{static_cast<std::uint8_t>(crc >> 24), static_cast<std::uint8_t>(crc >> 16),
                      static_cast<std::uint8_t>(crc >> 8), static_cast<std::uint8_t>(crc)};
    return text + to_base62(bytes, 6);
  };
  const std::string random(43, 'a');
  REQUIRE(parse_key(sealed("slk_k1_" + random)).has_value());
  using namespace std::string_view_literals;
  for (const std::string_view id : {""sv, "K1"sv, "k_1"sv, "-k"sv, ".k"sv, "k 1"sv, "k/1"sv, "k\0"sv}) {
    CAPTURE(id);
    CHECK_FALSE(parse_key(sealed("slk_" + std::string(id) + "_" + random)).has_value());
  }
  CHECK_FALSE(parse_key(sealed("slk_" + std::string(64, 'k') + "_" + random)).has_value());
  CHECK_FALSE(parse_key(sealed("SLK_k1_" + random)).has_value());
  CHECK_FALSE(parse_key(sealed("slk_k1-" + random)).has_value());
  CHECK_FALSE(parse_key(sealed("slk_k1_" + std::string(42, 'a') + "-")).has_value());
  CHECK_FALSE(parse_key(sealed("slk_k1_" + std::string(42, 'a') + std::string(1, '\0'))).has_value());
}

TEST_CASE("A hash is SHA-256 of salt and secret, with the salt in clear") {
  const Bytes salt{0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07};
  const std::string text = hash_secret("secret", salt);
  CHECK(text == "sha256:0001020304050607:" + to_hex(sha256(std::string("\0\1\2\3\4\5\6\7secret", 14))));
}

TEST_CASE("A secret verifies against its own hash and no other does") {
  const std::string key = mint_key("k1");
  const std::string other = mint_key("k1");
  const auto hash = parse_key_hash(hash_secret(parse_key(key)->secret));
  REQUIRE(hash.has_value());
  CHECK(hash->salt_size == kSaltBytes);
  CHECK(verify(*hash, parse_key(key)->secret));
  CHECK_FALSE(verify(*hash, parse_key(other)->secret));
  CHECK_FALSE(verify(*hash, ""));
  CHECK(verify(*hash, parse_key(key)->secret));  // a refusal leaves nothing behind
}

TEST_CASE("The same secret hashes differently each time, under a fresh salt") {
  CHECK(hash_secret("s") != hash_secret("s"));
}

TEST_CASE("Salts of 8 to 32 bytes are read, and take part in full") {
  for (const std::size_t size : {8U, 16U, 31U, 32U}) {
    Bytes salt(size, 0x5A);
    const auto hash = parse_key_hash(hash_secret("secret", salt));
    REQUIRE(hash.has_value());
    CHECK(verify(*hash, "secret"));
    salt.back() ^= 1;
    const auto salted_otherwise = parse_key_hash(hash_secret("secret", salt));
    CHECK(salted_otherwise->digest != hash->digest);
  }
}

TEST_CASE("Malformed hashes are refused") {
  const std::string salt(16, 'a');
  const std::string digest(64, 'b');
  REQUIRE(parse_key_hash("sha256:" + salt + ":" + digest).has_value());
  for (const std::string& text :
       {std::string(), std::string("sha256:"), "sha1:" + salt + ":" + digest, salt + ":" + digest,
        "sha256:" + salt + digest, "sha256::" + digest, "sha256:" + salt + "a:" + digest,
        "sha256:" + salt.substr(2) + ":" + digest, "sha256:" + std::string(66, 'a') + ":" + digest,
        "sha256:" + salt + ":" + digest.substr(2), "sha256:" + salt + ":" + digest + "bb",
        "sha256:" + salt + ":" + digest + ":", "sha256:" + std::string(16, 'g') + ":" + digest,
        "sha256:" + salt + ":" + std::string(64, 'g'), "SHA256:" + salt + ":" + digest,
        " sha256:" + salt + ":" + digest}) {
    CAPTURE(text);
    CHECK_FALSE(parse_key_hash(text).has_value());
  }
}

TEST_CASE("Nothing verifies against the dummy hash, which is salted as minted hashes are") {
  CHECK(dummy_key_hash().salt_size == parse_key_hash(hash_secret("x"))->salt_size);
  CHECK_FALSE(verify(dummy_key_hash(), ""));
  CHECK_FALSE(verify(dummy_key_hash(), parse_key(mint_key("k"))->secret));
}
