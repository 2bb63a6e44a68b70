// One request of a client and the reply to it.
//
// Ownership: a Session takes Streams from its memory when a request begins, and gives them back when its stream closes.
// Whoever keeps a pointer to a Stream implements StreamListener and forgets the pointer in on_closed().
// Thread safety: none; a Stream belongs to its server's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <boost/intrusive/list.hpp>

#include "common/http2/fields.hpp"

namespace sluice::http2 {

class Session;

class StreamListener {
 public:
  // A piece of the request's body. Whoever has handled the bytes calls Stream::credit().
  virtual void on_data(std::string_view bytes) = 0;
  virtual void on_end() = 0;     // the client sends no more
  virtual void on_writable() {}  // all output was taken
  // The stream is gone: answered, reset, or its connection closed. The last call.
  virtual void on_closed() = 0;

 protected:
  ~StreamListener() = default;
};

// Error codes of RFC 9113, section 7.
enum class StreamError : std::uint32_t { no_error = 0, internal_error = 2, refused = 7, cancel = 8 };

class Stream final : public boost::intrusive::list_base_hook<> {
 public:
  // REQUIRES: called in Handler::on_request(). Without a listener the request is dropped.
  void listen(StreamListener& listener) { listener_ = &listener; }

  const Fields& headers() const { return headers_; }
  std::string_view header(std::string_view name) const { return headers_.find(name); }
  // The header fields were more than SessionLimits::max_header_bytes: only the first ones are there.
  bool headers_too_large() const { return headers_too_large_; }
  std::string_view peer() const;  // address of the client; "" for Unix sockets

  // Begins the reply; with `end`, it is complete. REQUIRES: not called before; at most kMaxFields fields.
  static constexpr std::size_t kMaxFields = 16;
  void respond(std::initializer_list<Field> headers, bool end = false) { respond(std::span(headers), end); }
  void respond(std::span<const Field> headers, bool end);
  // Appends both to the body. REQUIRES: respond() without `end` was called, end() was not.
  void write(std::string_view bytes, std::string_view more = {});
  // Ends the reply with these trailers. REQUIRES: as for write().
  void end(std::span<const Field> trailers);
  // Ends the stream without a reply, or within one.
  void reset(StreamError error);

  bool responded() const { return responded_; }
  std::size_t waiting_bytes() const { return output_.size() - sent_; }

  // Lets the client send so many bytes more of this request.
  void credit(std::size_t bytes);

 private:
  friend class Session;

  void begin(Session& session, std::int32_t id);
  void clear();

  static constexpr std::size_t kKeptOutput = 64UL << 10;

  Session* session_ = nullptr;
  StreamListener* listener_ = nullptr;
  std::int32_t id_ = 0;
  Fields headers_;
  Fields trailers_;
  std::string output_;
  std::size_t sent_ = 0;          // bytes of output_
  std::size_t header_bytes_ = 0;  // as SessionLimits::max_header_bytes counts
  bool headers_too_large_ = false;
  bool client_ended_ = false;
  bool responded_ = false;
  bool ended_ = false;
  bool answered_ = false;  // the end of the reply has left
  bool deferred_ = false;  // nghttp2 waits for resume_data()
};

}  // namespace sluice::http2
