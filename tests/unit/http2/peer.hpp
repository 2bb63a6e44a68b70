// A session driven by hand: its client is nghttp2's own, and the bytes go from one to the other in memory. Frames that
// nghttp2 would not send are written as bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nghttp2/nghttp2.h>

#include "common/http2/session.hpp"

namespace sluice::http2 {

using Headers = std::vector<std::pair<std::string, std::string>>;

// What a client has got on one stream.
struct Got {
  std::map<std::string, std::string> headers;  // with the trailers
  std::string body;
  bool closed = false;
  std::uint32_t error = 0;  // of the stream's end
};

// nghttp2 as a client.
class Peer {
 public:
  explicit Peer(std::uint32_t window = 65'535) {
    nghttp2_session_callbacks* callbacks = nullptr;
    REQUIRE(nghttp2_session_callbacks_new(&callbacks) == 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &on_frame);
    nghttp2_option* options = nullptr;
    REQUIRE(nghttp2_option_new(&options) == 0);
    nghttp2_option_set_no_auto_window_update(options, 1);
    REQUIRE(nghttp2_session_client_new2(&session_, callbacks, this, options) == 0);
    nghttp2_option_del(options);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry setting{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &setting, 1);
  }
  ~Peer() { nghttp2_session_del(session_); }
  Peer(const Peer&) = delete;

  // Begins a request; returns its stream. `ends`: it has all of its body.
  std::int32_t ask(const Headers& headers, std::string body = "", bool ends = true) {
    std::vector<nghttp2_nv> fields;
    for (const auto& [name, value] : headers) fields.push_back(field(name, value));
    auto& out = *new Body{std::move(body), ends};
    bodies_.emplace_back(&out);
    nghttp2_data_provider provider{.source = {.ptr = &out}, .read_callback = &read_body};
    const bool none = out.text.empty() && ends;
    const std::int32_t id =
        nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(), none ? nullptr : &provider, nullptr);
    REQUIRE(id > 0);
    streams_[id] = &out;
    return id;
  }
  // More of the body.
  void send(std::int32_t id, std::string_view bytes, bool ends) {
    streams_[id]->text += bytes;
    streams_[id]->ends = ends;
    nghttp2_session_resume_data(session_, id);
  }
  void reset(std::int32_t id) { nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL); }
  void ping() { nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr); }
  // Lets the server send so many bytes more.
  void credit(std::int32_t id, std::size_t bytes) { nghttp2_session_consume(session_, id, bytes); }

  std::string output() {
    std::string out;
    const std::uint8_t* bytes = nullptr;
    for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &bytes)) > 0;) {
      out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    }
    return out;
  }
  void input(std::string_view bytes) {
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    CHECK(nghttp2_session_mem_recv(session_, data, bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }

  std::map<std::int32_t, Got> got;
  std::vector<std::pair<std::int32_t, std::uint32_t>> goaways;  // the last stream, and the error
  int pongs = 0;

 private:
  struct Body {
    std::string text;
    bool ends;
  };

  static nghttp2_nv field(const std::string& name, const std::string& value) {
    const auto bytes = [](const std::string& text) {
      return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
    };
    return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
  }
  static Peer& self(void* user) { return *static_cast<Peer*>(user); }
  static std::string text(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
  }
  static ssize_t read_body(nghttp2_session*, std::int32_t, std::uint8_t* space, std::size_t size, std::uint32_t* flags,
                           nghttp2_data_source* source, void*) {
    auto& body = *static_cast<Body*>(source->ptr);
    const std::size_t taken = std::min(size, body.text.size());
    if (taken == 0 && !body.ends) return NGHTTP2_ERR_DEFERRED;
    std::memcpy(space, body.text.data(), taken);
    body.text.erase(0, taken);
    if (body.text.empty() && body.ends) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(taken);
  }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                       const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
    self(user).got[frame->hd.stream_id].headers[text(name, name_size)] = text(value, value_size);
    return 0;
  }
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* bytes, std::size_t size,
                     void* user) {
    self(user).got[id].body += text(bytes, size);
    return 0;
  }
  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t error, void* user) {
    self(user).got[id].closed = true;
    self(user).got[id].error = error;
    return 0;
  }
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      self(user).goaways.emplace_back(frame->goaway.last_stream_id, frame->goaway.error_code);
    }
    if (frame->hd.type == NGHTTP2_PING) ++self(user).pongs;
    return 0;
  }

  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<Body>> bodies_;
  std::map<std::int32_t, Body*> streams_;
};

// A server's session and its client.
struct Pair final : private Session::Owner {
  Pair(Handler& handler, const SessionLimits& its_limits = {}, std::uint32_t window = 65'535)
      : limits(its_limits), session(limits, handler, memory, *this, "10.0.0.1"), client(window) {
    exchange();
  }

  // Passes bytes on until both have nothing to say. Returns whether the session is whole.
  bool exchange() {
    bool whole = true;
    for (;;) {
      const std::string asked = client.output();
      if (!asked.empty()) whole = session.feed(asked) && whole;
      std::string answered;
      whole = session.pull(answered, SIZE_MAX) && whole;
      if (asked.empty() && answered.empty()) return whole;
      client.input(answered);
    }
  }
  // Bytes that the client's nghttp2 knows nothing of.
  bool feed(std::string_view bytes) { return session.feed(bytes); }

  SessionLimits limits;
  SessionMemory memory;
  Session session;
  Peer client;
  int wakes = 0;

 private:
  void output_ready() noexcept override { ++wakes; }
};

// One frame.
inline std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, std::string_view payload) {
  const auto byte = [](std::uint32_t number, int shift) { return static_cast<char>(number >> shift); };
  const auto size = static_cast<std::uint32_t>(payload.size());
  std::string out{byte(size, 16), byte(size, 8), byte(size, 0), static_cast<char>(type), static_cast<char>(flags)};
  for (const int shift : {24, 16, 8, 0}) out.push_back(byte(stream, shift));
  return out.append(payload);
}

// A field as HPACK writes it without its table. REQUIRES: name and value are at most 126 bytes long.
inline std::string literal(std::string_view name, std::string_view value) {
  std::string out("\0", 1);
  out.push_back(static_cast<char>(name.size()));
  out.append(name).push_back(static_cast<char>(value.size()));
  return out.append(value);
}

inline std::string block(const Headers& headers) {
  std::string out;
  for (const auto& [name, value] : headers) out += literal(name, value);
  return out;
}

}  // namespace sluice::http2
