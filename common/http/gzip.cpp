#include "common/http/gzip.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include <fmt/core.h>
#include <zlib.h>

namespace sluice::http {
namespace {

constexpr int kGzip = 16;  // added to windowBits, this selects the gzip format instead of zlib's
constexpr int kWindow = 15;
constexpr int kMemoryLevel = 8;
constexpr std::size_t kStep = 64UL * 1024;    // bytes of output per call of zlib; gzip() raises it for large texts
constexpr std::size_t kLongStep = 1UL << 30;  // the most bytes of output per call in gzip()

// zlib's counters have 32 bits.
uInt in_one_go(std::size_t size) {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

Bytef* bytes(const char* text) { return reinterpret_cast<Bytef*>(const_cast<char*>(text)); }

// Calls `step` once and appends its output, up to `room` bytes, to `out`.
template <class Step>
int fill(z_stream& stream, std::string& out, std::size_t room, Step step) {
  const std::size_t before = out.size();
  out.resize(before + room);
  stream.next_out = bytes(out.data() + before);
  stream.avail_out = in_one_go(room);
  const int result = step(&stream);
  out.resize(out.size() - stream.avail_out);
  return result;
}

}  // namespace

std::string gzip(std::string_view text, int level) {
  z_stream stream{};
  if (::deflateInit2(&stream, level, Z_DEFLATED, kWindow + kGzip, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string out;
  int result = Z_OK;
  while (result != Z_STREAM_END) {
    stream.next_in = bytes(text.data());
    stream.avail_in = in_one_go(text.size());
    const int flush = stream.avail_in == text.size() ? Z_FINISH : Z_NO_FLUSH;
    const uInt given = stream.avail_in;
    result = fill(stream, out, std::min(kStep + out.size() / 2, kLongStep),
                  [flush](z_stream* s) { return ::deflate(s, flush); });
    text.remove_prefix(given - stream.avail_in);
  }
  ::deflateEnd(&stream);
  out.shrink_to_fit();
  return out;
}

void Gunzip::End::operator()(z_stream_s* stream) const {
  ::inflateEnd(stream);
  delete stream;
}

Gunzip::Gunzip() : stream_(new z_stream{}) {
  if (::inflateInit2(stream_.get(), kWindow + kGzip) != Z_OK) throw std::bad_alloc();
}

Gunzip::~Gunzip() = default;

Result<> Gunzip::feed(std::string_view piece, std::size_t limit, std::string& out) {
  bool full = false;  // zlib may hold more output
  while (!piece.empty() || full) {
    if (done_) return failure("encoding", "bytes follow the end of the gzip data");
    stream_->next_in = bytes(piece.data());
    stream_->avail_in = in_one_go(piece.size());
    const uInt given = stream_->avail_in;
    const std::size_t left = limit - std::min(limit, out.size());
    const std::size_t before = out.size();
    // One byte above the limit shows that the body is too large.
    const int result =
        fill(*stream_, out, left < kStep ? left + 1 : kStep, [](z_stream* s) { return ::inflate(s, Z_NO_FLUSH); });
    if (out.size() > limit) return failure("too_large", fmt::format("the body unpacks to more than {} bytes", limit));
    piece.remove_prefix(given - stream_->avail_in);
    done_ = result == Z_STREAM_END;
    full = stream_->avail_out == 0 && !done_;
    const bool stuck = given > 0 && given == stream_->avail_in && out.size() == before && !done_;
    if ((result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) || stuck) {
      return failure("encoding", "the body is not gzip, or was damaged");
    }
  }
  return {};
}

}  // namespace sluice::http
