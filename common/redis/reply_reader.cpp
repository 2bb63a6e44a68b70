#include "common/redis/reply_reader.hpp"

#include <limits>
#include <utility>

namespace sluice::redis {
namespace {

constexpr std::string_view kEnd = "\r\n";
constexpr std::ptrdiff_t kMaxDigits = 19;  // a std::uint64_t holds every number of so many
constexpr std::size_t kMaxNumberBytes = 1 + kMaxDigits + kEnd.size();
constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();

constexpr const char* kMalformed = "the reply is malformed or above the size limit";

}  // namespace

void ReplyReader::feed(std::string_view bytes) {
  bytes_.erase(0, bytes_.size() - rest_.size());
  bytes_.append(bytes);
  rest_ = bytes_;
}

Result<const Reply*> ReplyReader::next() {
  if (fault_ != nullptr) return fail(fault_);
  if (reply_ == nullptr) {
    if (rest_.empty()) return nullptr;
    if (!begin()) return fail(kMalformed);
  }
  while (open_ > 0) {
    Unread& innermost = unread_[open_ - 1];
    if (innermost.next == innermost.end) {
      --open_;
      continue;
    }
    switch (read(*innermost.next)) {
      case Step::read:
        ++innermost.next;  // read() may have opened an array, but `unread_` does not move
        break;
      case Step::needs_more:
        if (rest_.size() > max_reply_bytes_) return fail("the reply is above the size limit");
        return nullptr;
      case Step::broken:
        return fail(kMalformed);
    }
  }
  return std::exchange(reply_, nullptr);
}

// Returns false if the memory of one reply is less than a Reply.
bool ReplyReader::begin() {
  arena_.rewind();
  reply_ = arena_.make<Reply>(1);
  unread_[0] = {reply_, reply_ + 1};
  open_ = 1;
  return reply_ != nullptr;
}

// Reads the value at the front of `rest_` and removes its bytes, if all of them are there. Of an array it reads only
// how many elements it has.
ReplyReader::Step ReplyReader::read(Reply& reply) {
  if (rest_.empty()) return Step::needs_more;
  switch (rest_[0]) {
    case ':':
      return read_integer(reply);
    case '*':
      return read_array(reply);
    case '$':
      return read_bulk(reply);
    case '+':
      return read_line(reply, Reply::Type::status);
    case '-':
      return read_line(reply, Reply::Type::error);
    default:
      return Step::broken;
  }
}

// Reads the number between the first byte of `rest_` and the end of the line, and removes the line. Does not use
// std::from_chars(), which makes a reply cost three times as much.
ReplyReader::Step ReplyReader::read_number(std::int64_t& number) {
  const std::string_view line = rest_.substr(1, kMaxNumberBytes);
  const char* at = line.data();
  const char* const end = at + line.size();
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  const char* const first = at;
  std::uint64_t magnitude = 0;
  for (; at != end && *at >= '0' && *at <= '9'; ++at)
    magnitude = magnitude * 10 + static_cast<std::uint64_t>(*at - '0');
  if (static_cast<std::size_t>(end - at) < kEnd.size()) {
    return line.size() < kMaxNumberBytes ? Step::needs_more : Step::broken;
  }
  const std::ptrdiff_t digits = at - first;
  if (digits == 0 || digits > kMaxDigits || at[0] != kEnd[0] || at[1] != kEnd[1]) return Step::broken;
  if (magnitude > kLargest + (negative ? 1 : 0)) return Step::broken;
  number = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
  rest_.remove_prefix(static_cast<std::size_t>(at - rest_.data()) + kEnd.size());
  return Step::read;
}

ReplyReader::Step ReplyReader::read_integer(Reply& reply) {
  reply.type = Reply::Type::integer;
  return read_number(reply.integer);
}

ReplyReader::Step ReplyReader::read_line(Reply& reply, Reply::Type type) {
  const std::size_t end = rest_.substr(0, kMaxLineBytes).find(kEnd);
  if (end == std::string_view::npos) return rest_.size() < kMaxLineBytes ? Step::needs_more : Step::broken;
  return take_text(reply, type, 1, end - 1);
}

ReplyReader::Step ReplyReader::read_bulk(Reply& reply) {
  const std::string_view all = rest_;
  std::int64_t size = 0;
  if (const Step step = read_number(size); step != Step::read) return step;
  if (size == -1) return Step::read;  // a new Reply is nil
  if (size < 0) return Step::broken;
  const std::size_t head = all.size() - rest_.size();
  const auto text = static_cast<std::size_t>(size);
  rest_ = all;
  if (rest_.size() - head < kEnd.size() || rest_.size() - head - kEnd.size() < text) return Step::needs_more;
  if (!rest_.substr(head + text).starts_with(kEnd)) return Step::broken;
  return take_text(reply, Reply::Type::string, head, text);
}

// The text is in `rest_`, and kEnd follows it.
ReplyReader::Step ReplyReader::take_text(Reply& reply, Reply::Type type, std::size_t begin, std::size_t size) {
  reply.text = arena_.copy(rest_.substr(begin, size));
  if (reply.text.data() == nullptr) return Step::broken;
  reply.type = type;
  rest_.remove_prefix(begin + size + kEnd.size());
  return Step::read;
}

ReplyReader::Step ReplyReader::read_array(Reply& reply) {
  std::int64_t size = 0;
  if (const Step step = read_number(size); step != Step::read) return step;
  if (size == -1) return Step::read;
  if (size < 0 || open_ == unread_.size()) return Step::broken;
  const auto count = static_cast<std::size_t>(size);
  Reply* const elements = arena_.make<Reply>(count);
  if (elements == nullptr) return Step::broken;
  reply.type = Reply::Type::array;
  reply.elements = {elements, count};
  unread_[open_++] = {elements, elements + count};
  return Step::read;
}

Result<const Reply*> ReplyReader::fail(const char* fault) {
  fault_ = fault;
  return failure("protocol", fault);
}

void ReplyReader::reset() {
  bytes_.clear();
  rest_ = {};
  reply_ = nullptr;
  open_ = 0;
  fault_ = nullptr;
}

}  // namespace sluice::redis
