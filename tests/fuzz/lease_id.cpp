// What a caller sends as lease_id: no input may crash, and what is accepted is exactly what the agent would have
// written.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/limiter/lease_id.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto id = sluice::limiter::decode_lease_id(text);
  if (id && sluice::limiter::encode_lease_id(id->tenant, id->leases) != text) std::abort();
  return 0;
}
