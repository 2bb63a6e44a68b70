// Splits a connection's bytes into requests: framing, limits and refusals. No I/O, no clock.
//
// Call feed() with the unconsumed bytes of the connection, drop consumed() bytes from their front, act on the step, and
// call again. Invariant: the steps do not depend on how the bytes were split into reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <optional>
#include <string>
#include <string_view>

#include "common/http/chunk_decoder.hpp"
#include "common/http/message.hpp"
#include "common/http/refusal.hpp"
#include "common/http/request_head.hpp"

namespace sluice::http {

class RequestParser {
 public:
  enum class Step : std::uint8_t {
    need_more,
    head,                 // request() has no body yet; call set_body_limit(), then feed() again
    complete,             // request() is whole; feeding again starts the next one
    refused,              // answer with refusal(); if refusal().close is false, feed again to skip the body
    close_after_refusal,  // close the connection once the refusal is sent
  };
  // What the next byte belongs to. `skip` is the body of a refused request.
  enum class Phase : std::uint8_t { idle, head, body, skip };

  // `max_head_bytes` limits the request line, headers and blank line together. kMaxHeadBytes is the largest limit.
  explicit RequestParser(std::size_t max_head_bytes);

  // Turns header names in `data` into lower case. Do not call feed() again after `refused` if refusal().close is true,
  // or after `close_after_refusal`.
  Step feed(char* data, std::size_t size);

  std::size_t consumed() const { return consumed_; }  // by the last feed()
  std::size_t wanted() const { return wanted_; }      // bytes the unfinished request needs in one buffer; 0: not known
  Phase phase() const;

  void set_body_limit(std::size_t bytes) { body_limit_ = bytes; }
  std::size_t body_limit() const { return body_limit_; }
  // The length that the head states; nullopt for a chunked body. Valid after Step::head.
  std::optional<std::uint64_t> body_length() const;

  // Views into the fed buffer or this parser, valid until the next feed(). `method` is "" until the head is parsed.
  Request& request() { return request_; }
  const Request& request() const { return request_; }
  const Refusal& refusal() const { return refusal_; }
  bool http11() const { return head_.http11; }
  bool keep_alive() const { return head_.keep_alive; }
  bool is_head() const { return is_head_; }  // whether the method is HEAD
  // Whether the client waits for "100 Continue" before it sends the body. Valid after Step::head.
  bool expects_continue() const { return head_.expects_continue; }

  // REQUIRES: phase() == idle.
  void release_memory();

 private:
  enum class State : std::uint8_t { start, head, decide_body, body, chunks, skip_length, skip_chunks, ended };

  class HeadView final : public Request {
   public:
    std::string_view header(std::string_view name) const override;
    void bind(const RequestHead& head, char* base);
    void clear();

   private:
    const RequestHead* head_ = nullptr;
    const char* base_ = nullptr;
    mutable std::forward_list<std::string> joined_;  // values of repeated headers; rare
  };

  std::optional<Step> advance(char* data, std::size_t size);
  std::optional<Step> read_start(const char* data, std::size_t size);
  std::optional<Step> read_head(char* data, std::size_t size);
  std::optional<Step> decide_body(char* data);
  std::optional<Step> read_body(char* data, std::size_t size);
  std::optional<Step> read_chunks(const char* data, std::size_t size);
  std::optional<Step> skip_length(std::size_t size);
  std::optional<Step> skip_chunks(const char* data, std::size_t size);
  Step refuse(const Refusal& refusal);
  bool needs_length() const;

  std::size_t max_head_bytes_;
  std::size_t body_limit_ = 0;
  State state_ = State::start;
  std::uint8_t blank_lines_ = 0;
  bool is_head_ = false;
  std::size_t consumed_ = 0;
  std::size_t wanted_ = 0;
  std::size_t head_size_ = 0;
  std::uint64_t skip_left_ = 0;
  HeadScan scan_;
  RequestHead head_;
  ChunkDecoder chunks_;
  std::string assembled_;  // the head and the decoded body of a chunked request
  HeadView request_;
  Refusal refusal_;
};

}  // namespace sluice::http
