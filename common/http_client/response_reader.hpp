// Cuts one response out of a connection's bytes. No I/O, no clock.
//
// Thread safety: none; a value for one response. Invariant: what comes of the bytes does not depend on how they were
// cut. Boost.Beast reads the head's lines and fields; the rules of RFC 9112 it is lax about in 1.81, and bodies, are
// kept here with the server's own parts (http::HeadScan, http::ChunkDecoder).
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
  std::optional<std::uint64_t> length;                      // Content-Length
  bool chunked = false;
  bool keep_alive = false;
  bool gzip = false;

  bool has_body() const { return status != 204 && status != 304; }
};

// Reads a whole head, its blank line included. Errors: framing, encoding (a content coding other than gzip).
Result<ResponseHead> parse_response_head(std::string_view text);

class ResponseReader {
 public:
  enum class Step : std::uint8_t {
    need_more,  // all bytes are taken
    head,       // head() is there: set the body's limit and feed the rest (perhaps nothing) again
    done,       // the response is whole; bytes that are left are not its own
  };

  explicit ResponseReader(std::size_t max_head_bytes) : max_head_bytes_(max_head_bytes) {}

  // Takes what it needs off the front of `bytes`. Errors: framing, encoding, too_large; then feed no more.
  Result<Step> feed(std::string_view& bytes);

  bool begun() const { return begun_; }
  const ResponseHead& head() const { return head_; }
  ResponseHead take_head() { return std::move(head_); }

  void set_body_limit(std::size_t bytes) { body_limit_ = bytes; }  // decoded, what body() may hold
  std::string& body() { return body_; }                            // decoded so far; may be taken out as it comes

 private:
  enum class State : std::uint8_t { head, judge, body, done };

  Result<Step> read_head(std::string_view& bytes);
  Result<Step> judge();
  Result<Step> read_body(std::string_view& bytes);
  Result<bool> read_raw(std::string_view& bytes, std::string& raw);

  std::size_t max_head_bytes_;
  std::size_t body_limit_ = 0;
  State state_ = State::head;
  bool begun_ = false;
  std::uint8_t interim_ = 0;  // 1xx so far
  std::string head_text_;
  http::HeadScan scan_;
  ResponseHead head_;
  std::uint64_t left_ = 0;  // of a body that told its length
  http::ChunkDecoder chunks_;
  std::unique_ptr<http::Gunzip> gunzip_;
  std::string raw_;  // what gunzip_ takes next
  std::string body_;
};

}  // namespace sluice::http_client
