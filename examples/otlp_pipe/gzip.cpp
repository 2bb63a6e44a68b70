#include "gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <new>

namespace otlp_pipe {

std::optional<std::string> gunzip(std::string_view packed, std::size_t most, GunzipFault& fault) {
  constexpr int kGzip = 16 + MAX_WBITS;
  z_stream stream{};
  fault = GunzipFault::damaged;
  if (inflateInit2(&stream, kGzip) != Z_OK) return std::nullopt;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));  // zlib does not write there
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  int result = Z_OK;
  while (result == Z_OK) {
    const std::size_t before = text.size();
    if (before > most) {
      fault = GunzipFault::too_large;
      break;
    }
    text.resize(std::min(std::max<std::size_t>(2 * before, 64 * 1024), most + 1));
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + before);
    stream.avail_out = static_cast<uInt>(text.size() - before);
    result = inflate(&stream, Z_NO_FLUSH);
    text.resize(text.size() - stream.avail_out);
    if (result == Z_OK && stream.avail_in == 0 && stream.avail_out > 0) break;  // it ends too soon
  }
  inflateEnd(&stream);
  if (result == Z_STREAM_END && text.size() > most) fault = GunzipFault::too_large;
  if (result != Z_STREAM_END || text.size() > most) return std::nullopt;
  return text;
}

std::string gzip(std::string_view text) {
  constexpr int kGzip = 16 + MAX_WBITS, kMemory = 8;  // zlib's default
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string packed(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib does not write there
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);  // ends at once: there is room for all
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace otlp_pipe
