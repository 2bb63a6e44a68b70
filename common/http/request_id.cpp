#include "common/http/request_id.hpp"

#include <array>
#include <cstdint>

#include "common/base/crypto.hpp"

namespace sluice::http {

std::string make_request_id() {
  std::array<std::uint8_t, 12> bytes;
  random_bytes(bytes);
  return to_hex(bytes);
}

}  // namespace sluice::http
