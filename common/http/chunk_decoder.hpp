// A strict decoder of the chunked transfer coding (RFC 9112 section 7.1).
//
// It is stricter than the decoder of Boost.Beast: chunk extensions are checked, limited in size and dropped, so an
// extension cannot hide a line end. Trailers, which Beast would merge into the headers, are refused. No I/O.
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice::http {

class ChunkDecoder {
 public:
  enum class Status : std::uint8_t {
    need_more,  // all of `data` was taken
    done,       // the end of the body was reached
    too_large,  // the body is above the limit; the caller may continue with a higher limit, to skip the body
    broken,     // the bytes are not chunked coding, or a trailer follows; do not call decode() again
  };
  struct Progress {
    Status status;
    std::size_t consumed;  // bytes of `data` taken
  };

  // Appends decoded bytes to `out`, or drops them if `out` is nullptr. `limit`: the largest decoded body, in bytes.
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
  std::uint64_t remaining_ = 0;  // bytes of the current chunk that are still to come
  std::uint64_t total_ = 0;      // bytes of all chunks, including the whole current one
  std::size_t overhead_ = 0;     // bytes of extensions so far
};

}  // namespace sluice::http
