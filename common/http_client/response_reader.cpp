#include "common/http_client/response_reader.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace sluice::http_client {
namespace {

constexpr unsigned kMaxInterim = 8;  // interim responses (1xx) accepted before the final one

std::unexpected<Error> too_large(std::size_t limit) {
  return failure("too_large", fmt::format("the body is larger than {} bytes", limit));
}

}  // namespace

Result<ResponseReader::Step> ResponseReader::feed(std::string_view& bytes) {
  begun_ = begun_ || !bytes.empty();
  switch (state_) {
    case State::head:
      return read_head(bytes);
    case State::begin_body:
      if (auto begun = begin_body(); !begun || *begun == Step::done) return begun;
      return read_body(bytes);
    case State::body:
      return read_body(bytes);
    case State::done:
      break;
  }
  return Step::done;
}

Result<ResponseReader::Step> ResponseReader::read_head(std::string_view& bytes) {
  while (!bytes.empty()) {
    const std::size_t before = head_text_.size();
    head_text_ += bytes.substr(0, max_head_bytes_ - before);
    std::optional<http::Refusal> refusal;
    const std::size_t end = scan_.find_end(head_text_.data(), head_text_.size(), max_head_bytes_, refusal);
    if (refusal && refusal->status == 400) return failure("framing", std::string(refusal->detail));
    if (refusal) return failure("too_large", fmt::format("the head is larger than {} bytes", max_head_bytes_));
    bytes.remove_prefix((end == 0 ? head_text_.size() : end) - before);
    if (end == 0) continue;
    Result<ResponseHead> head = parse_response_head(std::string_view(head_text_).substr(0, end));
    if (!head) return std::unexpected(std::move(head).error());
    head_text_.clear();
    scan_ = {};
    if (head->status >= 200) {
      head_ = *std::move(head);
      state_ = State::begin_body;
      return Step::head;
    }
    if (head->status == 101 || ++interim_ > kMaxInterim) {
      return failure("framing", fmt::format("it begins with an unexpected interim response {}", head->status));
    }
  }
  return Step::need_more;
}

Result<ResponseReader::Step> ResponseReader::begin_body() {
  left_ = head_.chunked ? 0 : head_.length.value_or(0);
  state_ = State::body;
  if (!head_.has_body() || (!head_.chunked && left_ == 0)) {
    state_ = State::done;
    return Step::done;
  }
  if (left_ > body_limit_) return too_large(body_limit_);
  if (head_.gzip) gunzip_ = std::make_unique<http::Gunzip>();
  return Step::need_more;
}

Result<ResponseReader::Step> ResponseReader::read_body(std::string_view& bytes) {
  const Result<bool> ended = read_raw(bytes, gunzip_ ? raw_ : body_);
  if (!ended) return std::unexpected(ended.error());
  if (gunzip_) {
    Result<> unpacked = gunzip_->feed(raw_, body_limit_, body_);
    raw_.clear();
    if (!unpacked) return std::unexpected(std::move(unpacked).error());
    if (*ended && !gunzip_->done()) return failure("encoding", "the body ends before its gzip data does");
  } else if (body_.size() > body_limit_) {
    return too_large(body_limit_);
  }
  if (!*ended) return Step::need_more;
  state_ = State::done;
  return Step::done;
}

// Returns true if the body has ended.
Result<bool> ResponseReader::read_raw(std::string_view& bytes, std::string& raw) {
  using Status = http::ChunkDecoder::Status;
  if (!head_.chunked) {
    const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    raw += bytes.substr(0, take);
    bytes.remove_prefix(take);
    left_ -= take;
    return left_ == 0;
  }
  const auto progress = chunks_.decode(bytes.data(), bytes.size(), body_limit_, &raw);
  bytes.remove_prefix(progress.consumed);
  if (progress.status == Status::broken) return failure("framing", "its chunked body is malformed");
  if (progress.status == Status::too_large) return too_large(body_limit_);
  return progress.status == Status::done;
}

}  // namespace sluice::http_client
