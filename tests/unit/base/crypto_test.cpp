#include "common/base/crypto.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

using namespace sluice;

namespace {

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace

TEST_CASE("base64 with padding is written as RFC 4648 has it, and read as strictly") {
  const std::pair<const char*, const char*> samples[] = {
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xfb\xff\xbf", "+/+/"}};
  for (const auto& [plain, text] : samples) {
    CHECK(to_base64(as_bytes(plain)) == text);
    const auto read = from_base64(text);
    REQUIRE(read);
    CHECK(std::string(read->begin(), read->end()) == plain);
  }
  for (const char* wrong : {"Zg", "Zg=", "Zg===", "====", "Zh==", "-_-_", "Zm9v\n", "Z=m9"}) {
    CAPTURE(wrong);
    CHECK_FALSE(from_base64(wrong));
  }
}

TEST_CASE("hmac_sha256 gives the digests of RFC 4231") {
  CHECK(to_hex(hmac_sha256(as_bytes("Jefe"), "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(to_hex(hmac_sha256(Bytes(131, 0xaa), "Test Using Larger Than Block-Size Key - Hash Key First")) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("sha256 gives the digests of FIPS 180-4") {
  CHECK(to_hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(to_hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(to_hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(to_hex(sha256(std::string(1'000'000, 'a'))) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("A hash in parts equals the hash of the whole, and the object can be used again") {
  Sha256 hash;
  hash.update("a").update("").update("bc");
  CHECK(hash.finish() == sha256("abc"));
  CHECK(hash.finish() == sha256(""));
  CHECK(hash.update("abc").finish() == sha256("abc"));
}

TEST_CASE("Constant-time equality sees every differing byte and every differing length") {
  const Bytes a = bytes_of("0123456789abcdef");
  CHECK(constant_time_equal(a, a));
  CHECK(constant_time_equal({}, {}));
  CHECK_FALSE(constant_time_equal(a, ByteView(a).first(15)));
  CHECK_FALSE(constant_time_equal(a, {}));
  for (std::size_t i = 0; i < a.size(); ++i) {
    Bytes b = a;
    b[i] ^= 1;
    CHECK_FALSE(constant_time_equal(a, b));
  }
}

TEST_CASE("Random bytes fill everything asked for and do not repeat") {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    std::array<std::uint8_t, 16> bytes{};
    random_bytes(bytes);
    CHECK(seen.insert(to_hex(bytes)).second);
  }
  Bytes many(4096, 0);
  random_bytes(many);
  CHECK(std::ranges::count(many, 0) < 64);  // expected 16
  random_bytes({});
}

TEST_CASE("Hex is written in lower case and read in either") {
  const Bytes bytes{0x00, 0x01, 0x7F, 0x80, 0xAB, 0xFF};
  CHECK(to_hex(bytes) == "00017f80abff");
  CHECK(from_hex("00017f80abff") == bytes);
  CHECK(from_hex("00017F80ABFF") == bytes);
  CHECK(from_hex("") == Bytes{});
}

TEST_CASE("Hex of an odd length or with another character is refused") {
  for (const std::string_view text : {"0", "000", "0g", "g0", " 0", "0x", "-1", "+1", "0\xC3"}) {
    CAPTURE(text);
    CHECK_FALSE(from_hex(text).has_value());
  }
  std::array<std::uint8_t, 2> two{};
  CHECK(from_hex("beef", two));
  CHECK(two == std::array<std::uint8_t, 2>{0xBE, 0xEF});
  CHECK_FALSE(from_hex("beefbe", two));
  CHECK_FALSE(from_hex("be", two));
}

TEST_CASE("base64url gives the texts of RFC 4648, without padding") {
  const std::pair<std::string_view, std::string_view> vectors[] = {
      {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
      {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"},
  };
  for (const auto& [plain, text] : vectors) {
    CAPTURE(plain);
    CHECK(to_base64url(as_bytes(plain)) == text);
    CHECK(from_base64url(text) == bytes_of(plain));
  }
  CHECK(to_base64url(Bytes{0xFB, 0xFF, 0xBF}) == "-_-_");
  CHECK(from_base64url("-_-_") == Bytes{0xFB, 0xFF, 0xBF});
}

TEST_CASE("base64url reads back what it wrote, for every length and byte") {
  for (std::size_t size = 0; size <= 70; ++size) {
    Bytes bytes(size);
    random_bytes(bytes);
    CHECK(from_base64url(to_base64url(bytes)) == bytes);
  }
  for (unsigned value = 0; value < 256; ++value) {
    const Bytes bytes{static_cast<std::uint8_t>(value)};
    CHECK(from_base64url(to_base64url(bytes)) == bytes);
  }
}

TEST_CASE("base64url accepts one text only for the same bytes") {
  for (const std::string_view text :
       {"Zg==", "Zg=", "Zh", "Zv", "Zm9", "Z", "Zm9vY", "Zm+v", "Zm/v", "Zm 9", "Zm\n9", "Zm8="}) {
    CAPTURE(text);
    CHECK_FALSE(from_base64url(text).has_value());
  }
  // Of the 64 last characters of a two-character text exactly four leave no bit over.
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  CHECK(std::ranges::count_if(kDigits, [](char c) { return from_base64url(std::string{'A', c}).has_value(); }) == 4);
}

TEST_CASE("base62 writes one big-endian number, padded to its width") {
  CHECK(to_base62(Bytes{0}, 6) == "000000");
  CHECK(to_base62(Bytes{61}, 2) == "0z");
  CHECK(to_base62(Bytes{62}, 2) == "10");
  CHECK(to_base62(Bytes{36}, 1) == "a");
  CHECK(to_base62(Bytes{10}, 1) == "A");
  CHECK(to_base62(Bytes{0xFF, 0xFF, 0xFF, 0xFF}, 6) == "4gfFC3");  // 4294967295
  CHECK(to_base62(Bytes{1, 0}, 3) == "048");                       // 256 = 4·62 + 8
  CHECK(to_base62({}, 3) == "000");
}

TEST_CASE("The largest 32 bytes fit in 43 base62 digits") {
  const std::string text = to_base62(Bytes(32, 0xFF), 43);
  CHECK(text.size() == 43);
  CHECK(text.front() != '0');
  CHECK(is_base62(text));
  CHECK(to_base62(Bytes(32, 0), 43) == std::string(43, '0'));
}

TEST_CASE("is_base62 takes digits and letters only") {
  CHECK(is_base62("0123456789ABCXYZabcxyz"));
  CHECK(is_base62(""));
  for (const std::string_view text : {"_", "-", "a b", "a/", "a:", "@", "[", "`", "{", "\xC3\xA4"}) {
    CAPTURE(text);
    CHECK_FALSE(is_base62(text));
  }
}

TEST_CASE("crc32 is the CRC-32 of zlib") {
  CHECK(crc32("") == 0);
  CHECK(crc32("123456789") == 0xCBF43926);
  CHECK(crc32("The quick brown fox jumps over the lazy dog") == 0x414FA339);
}
