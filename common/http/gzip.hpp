// The gzip content coding (RFC 1952), over zlib.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

struct z_stream_s;

namespace sluice::http {

// `level` is 1 (fast) to 9 (small). Level 6 takes about 10 ms per megabyte, so do not call it for large texts on an
// event loop. Deterministic.
std::string gzip(std::string_view text, int level = 6);

// Decompresses one gzip member, piece by piece.
class Gunzip {
 public:
  Gunzip();
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;

  // Appends to `out`. Errors: `too_large` (`out` would be longer than `limit` bytes), and `encoding` (not gzip, a wrong
  // checksum, or bytes after the end). Do not call feed() again after an error.
  Result<> feed(std::string_view piece, std::size_t limit, std::string& out);
  bool done() const { return done_; }  // the end was reached, and the checksum is right

 private:
  struct End {
    void operator()(z_stream_s* stream) const;
  };
  std::unique_ptr<z_stream_s, End> stream_;
  bool done_ = false;
};

}  // namespace sluice::http
