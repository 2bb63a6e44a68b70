// Splits a connection's bytes into requests: framing, limits and refusals. No I/O, no clock.
//
// How to use it: call feed() with the unconsumed bytes of the connection, drop consumed() bytes from their front, act
// on the step, and call again. Only chunked bodies need memory, which is reused. Thread safety: none; one parser
// belongs to one connection. Invariant: the steps depend on the bytes alone, not on how they were split into reads.
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
    need_more,  // nothing to do before more bytes arrive
    head,       // request() has everything but the body: call set_body_limit(), then feed() again
    complete,   // request() is whole; feeding again starts the next one
    refused,    // answer with refusal(); if refusal().close is false, feed again: the rest of the body is skipped
    close_after_refusal,  // a refused body is too long to skip, or broken: close once the refusal is sent
  };
  // What the next byte belongs to. `idle`: a new request; `skip`: the body of a refused request.
  enum class Phase : std::uint8_t { idle, head, body, skip };

  // `max_head_bytes` limits the request line, headers and blank line together. More than kMaxHeadBytes counts as
  // kMaxHeadBytes.
  explicit RequestParser(std::size_t max_head_bytes);

  // Writes into `data`: header names become lower case. Do not call feed() again after `refused` if refusal().close is
  // true, or after `close_after_refusal`.
  Step feed(char* data, std::size_t size);

  std::size_t consumed() const { return consumed_; }  // bytes that the last feed() consumed
  std::size_t wanted() const { return wanted_; }      // bytes the unfinished request needs in one buffer; 0: not known
  Phase phase() const;

  void set_body_limit(std::size_t bytes) { body_limit_ = bytes; }
  std::size_t body_limit() const { return body_limit_; }
  // The announced length; nullopt for a chunked body. Valid after Step::head.
  std::optional<std::uint64_t> body_length() const;

  // The request: views into the fed buffer, or for a chunked body into this parser. Valid until the next feed().
  // `method` is "" until the head is parsed.
  Request& request() { return request_; }
  const Refusal& refusal() const { return refusal_; }
  bool http11() const { return head_.http11; }
  bool keep_alive() const { return head_.keep_alive; }  // the client wants to keep the connection
  bool is_head() const { return is_head_; }             // the method is HEAD: the reply has no body
  // The client waits for "100 Continue" before it sends the body. Valid after Step::head.
  bool expects_continue() const { return head_.expects_continue; }

  // Frees the memory of chunked bodies. REQUIRES: phase() == idle.
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
  std::string assembled_;  // a chunked request: its head, then its decoded body
  HeadView request_;
  Refusal refusal_;
};

}  // namespace sluice::http
