// Parses one response from a connection's bytes. No I/O, no clock. Boost.Beast parses the lines and fields of the head;
// the rules of RFC 9112 that Beast 1.81 does not enforce are checked here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/http/chunk_decoder.hpp"
#include "common/http/gzip.hpp"
#include "common/http/request_head.hpp"

namespace sluice::http_client {

struct ResponseHead {
  unsigned status = 0;
  std::vector<std::pair<std::string, std::string>> fields;  // names in lower case
  std::optional<std::uint64_t> length;
  bool chunked = false;
  bool keep_alive = false;
  bool gzip = false;

  bool has_body() const { return status != 204 && status != 304; }
};

// Parses a complete head, including its blank line. Errors: framing, encoding (a content coding other than gzip).
Result<ResponseHead> parse_response_head(std::string_view text);

class ResponseReader {
 public:
  enum class Step : std::uint8_t {
    need_more,
    head,  // call set_body_limit(), then feed() with the remaining bytes, even if there are none
    done,  // remaining bytes do not belong to the response
  };

  explicit ResponseReader(std::size_t max_head_bytes) : max_head_bytes_(max_head_bytes) {}

  // Takes bytes from the front of `bytes`. Errors: framing, encoding, too_large. Do not call feed() again after an
  // error.
  Result<Step> feed(std::string_view& bytes);

  bool begun() const { return begun_; }
  const ResponseHead& head() const { return head_; }
  ResponseHead take_head() { return std::move(head_); }

  void set_body_limit(std::size_t bytes) { body_limit_ = bytes; }  // the most that body() may hold at once
  std::string& body() { return body_; }                            // decoded; the caller may remove bytes between calls

 private:
  enum class State : std::uint8_t { head, begin_body, body, done };

  Result<Step> read_head(std::string_view& bytes);
  Result<Step> begin_body();
  Result<Step> read_body(std::string_view& bytes);
  Result<bool> read_raw(std::string_view& bytes, std::string& raw);

  std::size_t max_head_bytes_;
  std::size_t body_limit_ = 0;
  State state_ = State::head;
  bool begun_ = false;
  std::uint8_t interim_ = 0;  // interim responses (1xx) so far
  std::string head_text_;
  http::HeadScan scan_;
  ResponseHead head_;
  std::uint64_t left_ = 0;  // bytes still to come of a body with Content-Length
  http::ChunkDecoder chunks_;
  std::unique_ptr<http::Gunzip> gunzip_;
  std::string raw_;  // compressed bytes for gunzip_
  std::string body_;
};

}  // namespace sluice::http_client
