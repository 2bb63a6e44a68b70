#include "common/http/request_parser.hpp"

#include <algorithm>
#include <limits>

namespace sluice::http {
namespace {

// A refused body of up to this many bytes is dropped, and the connection stays open.
constexpr std::uint64_t kMaxSkip = 256UL * 1024;
constexpr std::uint8_t kMaxBlankLines = 4;         // before a request line, because old clients send one after a body
constexpr std::size_t kKeptStorage = 64UL * 1024;  // bytes that `assembled_` keeps from one request to the next

constexpr Refusal kLengthRequired{411, "/problems/length-required",
                                  "Requests of this method carry Content-Length or Transfer-Encoding: chunked.", false};
constexpr Refusal kBodyTooLarge{413, "/problems/body-too-large", "The body is too large for this path.", false};
constexpr Refusal kBadChunks = bad_framing("The body is not the chunked coding, or has trailers.");

}  // namespace

std::string_view RequestParser::HeadView::header(std::string_view name) const {
  std::string_view value;
  std::string* joined = nullptr;
  bool found = false;
  for (std::size_t i = 0; i < head_->field_count; ++i) {
    const HeaderField& field = head_->fields[i];
    if (field.name.size != name.size() || field.name.in(base_) != name) continue;
    if (!found) {
      value = field.value.in(base_);
      found = true;
      continue;
    }
    if (joined == nullptr) joined = &joined_.emplace_front(value);
    joined->append(", ").append(field.value.in(base_));
  }
  return joined != nullptr ? std::string_view(*joined) : value;
}

void RequestParser::HeadView::bind(const RequestHead& head, char* base) {
  head_ = &head;
  base_ = base;
  method = head.method.in(base);
  target = head.target.in(base);
  path = head.path.in(base);
  query = head.query.in(base);
  content_type = head.content_type.in(base);
  content_encoding = head.content_encoding.in(base);
  body = {};
}

void RequestParser::HeadView::clear() {
  method = target = path = query = content_type = content_encoding = {};
  body = {};
  if (!joined_.empty()) joined_.clear();
}

RequestParser::RequestParser(std::size_t max_head_bytes) : max_head_bytes_(std::min(max_head_bytes, kMaxHeadBytes)) {
  request_.bind(head_, nullptr);
}

RequestParser::Phase RequestParser::phase() const {
  switch (state_) {
    case State::start:
      return Phase::idle;
    case State::head:
      return Phase::head;
    case State::skip_length:
    case State::skip_chunks:
      return Phase::skip;
    default:
      return Phase::body;
  }
}

std::optional<std::uint64_t> RequestParser::body_length() const {
  return head_.chunked ? std::nullopt : std::optional<std::uint64_t>(head_.content_length);
}

RequestParser::Step RequestParser::feed(char* data, std::size_t size) {
  consumed_ = 0;
  wanted_ = 0;
  std::optional<Step> step;
  while (!step) step = advance(data + consumed_, size - consumed_);
  return *step;
}

// nullopt means that the state has changed, and advance() must be called again.
std::optional<RequestParser::Step> RequestParser::advance(char* data, std::size_t size) {
  switch (state_) {
    case State::start:
      return read_start(data, size);
    case State::head:
      return read_head(data, size);
    case State::decide_body:
      return decide_body(data);
    case State::body:
      return read_body(data, size);
    case State::chunks:
      return read_chunks(data, size);
    case State::skip_length:
      return skip_length(size);
    case State::skip_chunks:
      return skip_chunks(data, size);
    case State::ended:
      break;
  }
  return Step::close_after_refusal;
}

std::optional<RequestParser::Step> RequestParser::read_start(const char* data, std::size_t size) {
  if (size == 0 || (size == 1 && data[0] == '\r')) return Step::need_more;
  if (data[0] == '\r' && data[1] == '\n' && blank_lines_ < kMaxBlankLines) {
    ++blank_lines_;
    consumed_ += 2;
    return std::nullopt;
  }
  blank_lines_ = 0;
  scan_ = {};
  request_.clear();
  is_head_ = false;
  if (assembled_.capacity() > kKeptStorage) std::string().swap(assembled_);
  state_ = State::head;
  // A client of another protocol (for example TLS) might never send the end of a head. Without this refusal, it would
  // have to wait for a time-out.
  if (static_cast<unsigned char>(data[0]) <= ' ' || static_cast<unsigned char>(data[0]) >= 0x7f) {
    return refuse(bad_framing("This is not an HTTP/1.1 request."));
  }
  return std::nullopt;
}

std::optional<RequestParser::Step> RequestParser::read_head(char* data, std::size_t size) {
  std::optional<Refusal> refusal;
  head_size_ = scan_.find_end(data, size, max_head_bytes_, refusal);
  if (!refusal && head_size_ == 0) return Step::need_more;
  if (!refusal) refusal = parse_head(data, head_size_, head_);
  if (refusal) return refuse(*refusal);
  request_.bind(head_, data);
  is_head_ = request_.method == "HEAD";
  if (head_.has_body()) {
    state_ = State::decide_body;
    return Step::head;
  }
  consumed_ += head_size_;
  state_ = State::start;
  if (needs_length()) {
    Refusal missing = kLengthRequired;
    missing.close = !head_.keep_alive;
    return refuse(missing);
  }
  return Step::complete;
}

bool RequestParser::needs_length() const {
  if (head_.has_length) return false;
  return request_.method == "POST" || request_.method == "PUT" || request_.method == "PATCH";
}

std::optional<RequestParser::Step> RequestParser::decide_body(char* data) {
  if (head_.chunked) {
    assembled_.assign(data, head_size_);
    chunks_ = {};
    consumed_ += head_size_;
    state_ = State::chunks;
    return std::nullopt;
  }
  if (head_.content_length <= body_limit_) {
    state_ = State::body;
    return std::nullopt;
  }
  consumed_ += head_size_;
  request_.bind(head_, data);
  Refusal too_large = kBodyTooLarge;
  // Closes after `Expect: 100-continue`, because nobody knows whether the refused client still sends the body.
  too_large.close = !head_.keep_alive || head_.expects_continue || head_.content_length > kMaxSkip;
  skip_left_ = head_.content_length;
  state_ = State::skip_length;
  return refuse(too_large);
}

std::optional<RequestParser::Step> RequestParser::read_body(char* data, std::size_t size) {
  const auto length = static_cast<std::size_t>(head_.content_length);
  if (size < head_size_ + length) {
    wanted_ = head_size_ + length;
    return Step::need_more;
  }
  request_.bind(head_, data);
  request_.body = {data + head_size_, length};
  consumed_ += head_size_ + length;
  state_ = State::start;
  return Step::complete;
}

std::optional<RequestParser::Step> RequestParser::read_chunks(const char* data, std::size_t size) {
  const auto [status, taken] = chunks_.decode(data, size, body_limit_, &assembled_);
  consumed_ += taken;
  if (status == ChunkDecoder::Status::need_more) return Step::need_more;
  request_.bind(head_, assembled_.data());
  if (status == ChunkDecoder::Status::broken) return refuse(kBadChunks);
  if (status == ChunkDecoder::Status::too_large) {
    Refusal too_large = kBodyTooLarge;
    too_large.close = !head_.keep_alive;
    skip_left_ = kMaxSkip;
    state_ = State::skip_chunks;
    return refuse(too_large);
  }
  request_.body = {assembled_.data() + head_size_, assembled_.size() - head_size_};
  state_ = State::start;
  return Step::complete;
}

std::optional<RequestParser::Step> RequestParser::skip_length(std::size_t size) {
  const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(skip_left_, size));
  consumed_ += take;
  skip_left_ -= take;
  if (skip_left_ > 0) return Step::need_more;
  state_ = State::start;
  return std::nullopt;
}

std::optional<RequestParser::Step> RequestParser::skip_chunks(const char* data, std::size_t size) {
  const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(skip_left_, size));
  const auto [status, taken] = chunks_.decode(data, take, std::numeric_limits<std::uint64_t>::max(), nullptr);
  consumed_ += taken;
  skip_left_ -= taken;
  if (status == ChunkDecoder::Status::done) {
    state_ = State::start;
    return std::nullopt;
  }
  if (status == ChunkDecoder::Status::need_more && skip_left_ > 0) return Step::need_more;
  state_ = State::ended;
  return Step::close_after_refusal;
}

RequestParser::Step RequestParser::refuse(const Refusal& refusal) {
  refusal_ = refusal;
  if (refusal.close) state_ = State::ended;
  return Step::refused;
}

void RequestParser::release_memory() {
  request_.clear();
  std::string().swap(assembled_);
}

}  // namespace sluice::http
