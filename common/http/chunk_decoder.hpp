// A decoder of the chunked transfer coding (RFC 9112 section 7.1), stricter than that of Boost.Beast: chunk extensions
// are checked and dropped, so they cannot hide a line end, and trailers are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice::http {

class ChunkDecoder {
 public:
  enum class Status : std::uint8_t {
    need_more,  // all of `data` was taken
    done,
    too_large,  // the caller may continue with a higher limit, to skip the body
    broken,     // do not call decode() again
  };
  struct Progress {
    Status status;
    std::size_t consumed;  // bytes of `data` taken
  };

  // Appends decoded bytes to `out`, or drops them if `out` is nullptr. `limit` is the largest decoded body in bytes.
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
  std::size_t overhead_ = 0;
};

}  // namespace sluice::http
