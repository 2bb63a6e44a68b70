// Takes the chunked transfer coding apart (RFC 9112 section 7.1), strictly.
//
// Thread safety: none; a value without I/O. Stricter than Beast's: chunk extensions are checked, bounded and thrown
// away, so that none hides a line end; trailers, which Beast would merge into the headers, are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice::http {

class ChunkDecoder {
 public:
  enum class Status : std::uint8_t {
    need_more,  // all of `data` was taken
    done,       // the body's end was seen
    too_large,  // the body passes the limit; said once, decoding may go on (with another limit)
    broken,     // not the chunked coding, or with trailers; say no more
  };
  struct Progress {
    Status status;
    std::size_t consumed;  // bytes of `data` taken
  };

  // Appends decoded bytes to `out`; with none they are thrown away. `limit`: the largest body, in decoded bytes.
  Progress decode(const char* data, std::size_t size, std::uint64_t limit, std::string* out);

 private:
  enum class State : std::uint8_t {
    size_first,
    size,
    size_space,
    extension,
    size_lf,
    data,
    data_cr,
    data_lf,
    end_cr,
    end_lf,
    ended,
  };

  bool step(char c);
  bool step_size(char c);
  bool end_size_line();

  static constexpr std::size_t kMaxOverhead = 8192;  // bytes of extensions in one body

  State state_ = State::size_first;
  std::uint8_t digits_ = 0;
  std::uint64_t remaining_ = 0;  // of the current chunk
  std::uint64_t total_ = 0;      // of all chunks so far
  std::size_t overhead_ = 0;
};

}  // namespace sluice::http
