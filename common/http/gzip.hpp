// The gzip content coding (RFC 1952), over zlib.
//
// Thread safety: gzip() may be called from any thread; each Gunzip belongs to one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

struct z_stream_s;

namespace sluice::http {

// Compresses `text`. `level`: 1 (fast) to 9 (small); at any level JSON shrinks to 10–20 % of its size. Level 6 takes
// about 10 ms per megabyte, so do not call it for large texts on an event loop. Deterministic.
std::string gzip(std::string_view text, int level = 6);

// Decompresses piece by piece. The body is one gzip member; bytes after it are an error.
class Gunzip {
 public:
  Gunzip();
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;

  // Decompresses `piece` and appends the result to `out`, which may hold up to `limit` bytes. Errors: `encoding` (not
  // gzip, a wrong checksum, or bytes after the end); `too_large` as soon as the limit is passed, without unpacking the
  // rest. Do not call feed() again after an error.
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
