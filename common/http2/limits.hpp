// What one client may have of a connection. Everything that a client can make the server keep has a bound here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::http2 {

struct SessionLimits {
  // Open at the same time. Further ones are refused (REFUSED_STREAM); of a client that has acknowledged the number, the
  // connection ends (PROTOCOL_ERROR).
  std::uint32_t max_streams = 128;
  std::size_t max_header_bytes = 8192;       // of one request: names, values and 32 for each field (RFC 9113, 6.5.2)
  std::size_t max_header_block = 65'536;     // encoded bytes of one header block, with its CONTINUATION frames
  std::uint32_t max_header_frames = 8;       // HEADERS and CONTINUATION frames of one header block
  std::uint32_t stream_window = 65'535;      // bytes of a request that may wait for its stream's handler
  std::int32_t connection_window = 1 << 20;  // bytes of all requests that may be under way

  // The two budgets of FloodGuard: what a client may have at once, and what it gets back each tick (250 ms).
  std::uint32_t resets = 1000;
  std::uint32_t resets_per_tick = 50;
  std::uint32_t control_frames = 1000;
  std::uint32_t control_frames_per_tick = 50;
};

}  // namespace sluice::http2
