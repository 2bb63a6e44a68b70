// Requests: whatever the bytes, the parser neither misbehaves nor depends on how they were cut into reads.
// The first byte seeds the cuts; the rest is what a client sends.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/http/transcript.hpp"

namespace {

using sluice::http::Transcript;

constexpr std::size_t kBodyLimit = 40;

std::vector<std::string> in_pieces(std::string_view bytes, unsigned seed) {
  Transcript transcript(kBodyLimit);
  unsigned state = seed;
  while (!bytes.empty()) {
    state = state * 1103515245U + 12345U;
    const std::size_t size = std::min<std::size_t>(1 + (state >> 16) % (1 + seed % 61), bytes.size());
    transcript.feed(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return transcript.lines();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  Transcript whole(kBodyLimit);
  whole.feed(bytes);
  if (in_pieces(bytes, data[0]) != whole.lines()) std::abort();
  if (in_pieces(bytes, 0) != whole.lines()) std::abort();  // byte by byte
  // What is left over is a request's unfinished part, never a whole body or head over the limits.
  if (!whole.ended() && whole.pending() > 8192 + kBodyLimit) std::abort();
  return 0;
}
