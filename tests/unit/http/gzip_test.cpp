#include <string>

#include <doctest/doctest.h>

#include "common/http/gzip.hpp"

namespace sluice::http {
namespace {

std::string sample(std::size_t size) {
  std::string text;
  while (text.size() < size) text += R"({"id":"policy-)" + std::to_string(text.size() * 31 % 9'973) + R"("},)";
  text.resize(size);
  return text;
}

std::string unpacked(std::string_view packed, std::size_t step, std::size_t limit = 10'000'000) {
  Gunzip gunzip;
  std::string out;
  for (std::size_t at = 0; at < packed.size(); at += step) {
    if (auto fed = gunzip.feed(packed.substr(at, step), limit, out); !fed) return fed.error().code;
  }
  return gunzip.done() ? out : "not done";
}

TEST_CASE("what gzip packs, gunzip unpacks, however it is cut") {
  for (const std::size_t size : {0UL, 1UL, 65'536UL, 200'000UL, 3'000'000UL}) {
    const std::string text = sample(size);
    const std::string packed = gzip(text);
    CHECK(packed == gzip(text));
    CHECK((unpacked(packed, 1'000'000) == text));
    CHECK((unpacked(packed, size < 100'000 ? 1 : 777) == text));
  }
  CHECK(gzip(sample(1'000'000)).size() < 250'000);
}

TEST_CASE("noise grows by little") {
  std::string noise;
  for (std::uint64_t state = 1; noise.size() < 300'000; state = state * 6'364'136'223'846'793'005UL + 1) {
    noise += static_cast<char>(state >> 56U);
  }
  const std::string packed = gzip(noise);
  CHECK(packed.size() < noise.size() + 1'000);
  CHECK((unpacked(packed, 4'096) == noise));
}

TEST_CASE("unpacking stops at the limit, exactly, and before memory is filled") {
  const std::string text = sample(100'000);
  const std::string packed = gzip(text);
  CHECK((unpacked(packed, 500, 100'000) == text));
  CHECK(unpacked(packed, 500, 99'999) == "too_large");
  const std::string bomb = gzip(std::string(50'000'000, 'a'));
  Gunzip gunzip;
  std::string out;
  CHECK(gunzip.feed(bomb, 1'000, out).error().code == "too_large");
  CHECK(out.capacity() < 200'000);
}

TEST_CASE("what is no gzip, is damaged, cut off or followed by more is not taken") {
  const std::string packed = gzip(sample(10'000));
  std::string damaged = packed;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  std::string wrong_sum = packed;
  wrong_sum[wrong_sum.size() - 6] = static_cast<char>(wrong_sum[wrong_sum.size() - 6] ^ 1);
  CHECK(unpacked("{\"not\":\"gzip\"}", 4) == "encoding");
  CHECK(unpacked(damaged, 100) == "encoding");
  CHECK(unpacked(wrong_sum, 100) == "encoding");
  CHECK(unpacked(packed + "x", 100) == "encoding");
  CHECK(unpacked(packed + packed, packed.size()) == "encoding");
  CHECK(unpacked(packed.substr(0, packed.size() - 1), 100) == "not done");
}

}  // namespace
}  // namespace sluice::http
