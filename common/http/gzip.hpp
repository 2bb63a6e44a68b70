// The gzip content coding (RFC 1952), over zlib.
//
// Thread safety: gzip() may be called from any thread; a Gunzip belongs to one.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

struct z_stream_s;

namespace sluice::http {

// `level`: 1 (quick) to 9 (small); JSON shrinks to a tenth to a fifth at any of them. Blocks for about 10 ms a megabyte
// at 6: large texts belong on no event loop. The same text and level give the same bytes.
std::string gzip(std::string_view text, int level = 6);

// Decodes piece by piece. One member is the whole body: what follows it is an error.
class Gunzip {
 public:
  Gunzip();
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;

  // Appends to `out` what `piece` holds, while `out` stays within `limit` bytes. Errors: `encoding`, where it is not
  // gzip or its checksum is wrong; `too_large`, at once when the limit is passed, whatever the piece unpacks to. After
  // an error it is of no more use.
  Result<> feed(std::string_view piece, std::size_t limit, std::string& out);
  bool done() const { return done_; }  // the end was seen, and its checksum fits

 private:
  struct End {
    void operator()(z_stream_s* stream) const;
  };
  std::unique_ptr<z_stream_s, End> stream_;
  bool done_ = false;
};

}  // namespace sluice::http
