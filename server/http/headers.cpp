#include "server/http/headers.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/core.h>

#include "common/base/crypto.hpp"

namespace sluice::server::http {
namespace {

constexpr std::size_t kMaxRequestId = 128;  // characters

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == ':' || c == '-';
}

}  // namespace

std::string request_id_of(std::string_view given) {
  if (!given.empty() && given.size() <= kMaxRequestId && std::ranges::all_of(given, is_word)) return std::string(given);
  std::array<std::uint8_t, 12> bytes;
  random_bytes(bytes);
  return to_hex(bytes);
}

std::string answer_headers(std::string_view own, std::string_view request_id) {
  return fmt::format("{}X-Request-Id: {}\r\n{}", own, request_id, kCommonHeaders);
}

}  // namespace sluice::server::http
