#include "server/http/headers.hpp"

#include <array>
#include <cstdint>

#include <fmt/core.h>

#include "common/base/crypto.hpp"
#include "common/http/request_id.hpp"

namespace sluice::server::http {
std::string request_id_of(std::string_view given) {
  if (sluice::http::is_request_id(given)) return std::string(given);
  std::array<std::uint8_t, 12> bytes;
  random_bytes(bytes);
  return to_hex(bytes);
}

std::string answer_headers(std::string_view own, std::string_view request_id) {
  return fmt::format("{}X-Request-Id: {}\r\n{}", own, request_id, kCommonHeaders);
}

}  // namespace sluice::server::http
