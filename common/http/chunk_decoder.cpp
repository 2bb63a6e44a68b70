#include "common/http/chunk_decoder.hpp"

#include <algorithm>

namespace sluice::http {
namespace {

constexpr std::uint8_t kMaxDigits = 15;  // hex digits of a chunk's size

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool is_space(char c) { return c == ' ' || c == '\t'; }

bool is_text(char c) { return static_cast<unsigned char>(c) >= ' ' ? c != '\x7f' : c == '\t'; }

}  // namespace

ChunkDecoder::Progress ChunkDecoder::decode(const char* data, std::size_t size, std::uint64_t limit, std::string* out) {
  std::size_t at = 0;
  while (at < size) {
    if (state_ == State::data) {
      const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, size - at));
      if (out != nullptr) out->append(data + at, take);
      at += take;
      remaining_ -= take;
      if (remaining_ == 0) state_ = State::data_cr;
      continue;
    }
    if (!step(data[at++])) return {Status::broken, at};
    if (state_ == State::ended) return {Status::done, at};
    if (state_ == State::data && total_ > limit) return {Status::too_large, at};
  }
  return {Status::need_more, at};
}

bool ChunkDecoder::step(char c) {
  switch (state_) {
    case State::data_cr:
      state_ = State::data_lf;
      return c == '\r';
    case State::data_lf:
      state_ = State::size_first;
      return c == '\n';
    case State::end_cr:  // any other byte would begin a trailer, which is refused
      state_ = State::end_lf;
      return c == '\r';
    case State::end_lf:
      state_ = State::ended;
      return c == '\n';
    default:
      return step_size(c);
  }
}

bool ChunkDecoder::step_size(char c) {
  if (state_ == State::size_lf) return c == '\n' && end_size_line();
  if (state_ == State::size_first) {
    digits_ = 0;
    remaining_ = 0;
  }
  if (state_ == State::size_first || state_ == State::size) {
    if (const int value = hex_value(c); value >= 0) {
      remaining_ = remaining_ * 16 + static_cast<unsigned>(value);
      state_ = State::size;
      return ++digits_ <= kMaxDigits;
    }
    if (state_ == State::size_first) return false;
  }
  if (state_ != State::extension) {  // `c` follows the digits or a space; after a space, only an extension may come
    if (c == '\r' && state_ == State::size) {
      state_ = State::size_lf;
      return true;
    }
    state_ = c == ';' ? State::extension : State::size_space;
    return ++overhead_ <= kMaxOverhead && (c == ';' || is_space(c));
  }
  if (c == '\r') {
    state_ = State::size_lf;
    return true;
  }
  return ++overhead_ <= kMaxOverhead && is_text(c);
}

bool ChunkDecoder::end_size_line() {
  total_ += remaining_;
  state_ = remaining_ > 0 ? State::data : State::end_cr;
  return total_ >= remaining_;
}

}  // namespace sluice::http
