#include "common/http2/session.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace sluice::http2 {
namespace {

constexpr std::uint32_t kMaxFrame = 16'384;

std::string_view view(const std::uint8_t* text, std::size_t size) {
  return {reinterpret_cast<const char*>(text), size};
}

nghttp2_nv nv_of(const Field& field) {
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {bytes(field.name), bytes(field.value), field.name.size(), field.value.size(), NGHTTP2_NV_FLAG_NONE};
}

// Frames that a client may send at will, and that begin, carry or end no request.
bool is_control(const nghttp2_frame_hd& frame) {
  if (frame.type == NGHTTP2_DATA) return frame.length == 0 && (frame.flags & NGHTTP2_FLAG_END_STREAM) == 0;
  return frame.type != NGHTTP2_HEADERS && frame.type != NGHTTP2_CONTINUATION && frame.type != NGHTTP2_RST_STREAM;
}

}  // namespace

// nghttp2's callbacks. An exception must not pass through its C code.
struct Session::Callbacks {
  static Session& self(void* user) { return *static_cast<Session*>(user); }
  static Stream* stream_of(nghttp2_session* session, std::int32_t id) {
    return static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, id));
  }
  template <class F>
  static int guarded(F f) {
    try {
      f();
      return 0;
    } catch (const std::bad_alloc&) {
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }

  // Without memory for a request, its stream is reset, and others go on.
  template <class F>
  static int guarded(nghttp2_session* session, std::int32_t id, F f) {
    if (guarded(f) == 0) return 0;
    const int reset = nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_INTERNAL_ERROR);
    return nghttp2_is_fatal(reset) != 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
  }
  // The same where nghttp2 resets the stream by itself.
  static int or_reset(int result) { return result == 0 ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; }

  // A reset of a stream that is closed. end_stream() counts the others.
  static bool resets_nothing(nghttp2_session* session, const nghttp2_frame_hd& frame) {
    return frame.type == NGHTTP2_RST_STREAM && stream_of(session, frame.stream_id) == nullptr;
  }

  static int begin_frame(nghttp2_session* nghttp2, const nghttp2_frame_hd* frame, void* user) {
    Session& session = self(user);
    if (frame->type == NGHTTP2_HEADERS || frame->type == NGHTTP2_CONTINUATION) session.count_block_bytes(*frame);
    if ((is_control(*frame) || resets_nothing(nghttp2, *frame)) && !session.guard_.take_control_frame())
      session.flooded();
    return 0;
  }

  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    return or_reset(guarded([&] { self(user).begin_stream(frame->hd.stream_id); }));
  }

  static int header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                    void* user) {
    Stream* stream = stream_of(session, frame->hd.stream_id);
    if (stream == nullptr || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;  // trailers mean nothing here
    return or_reset(guarded([&] { self(user).add_header(*stream, view(name, name_size), view(value, value_size)); }));
  }

  static int frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Session& its = self(user);
    if (frame->hd.type == NGHTTP2_SETTINGS) its.greeted_ = true;
    if (frame->hd.type == NGHTTP2_HEADERS) its.in_block_ = false;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Stream* stream = stream_of(session, frame->hd.stream_id);
    if (stream == nullptr) return 0;
    const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    return guarded(session, frame->hd.stream_id, [&] {
      if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        its.begin_request(*stream, ends);
      } else if (ends) {
        its.end_request(*stream);
      }
    });
  }

  static int data(nghttp2_session* session, std::uint8_t, std::int32_t id, const std::uint8_t* bytes, std::size_t size,
                  void*) {
    nghttp2_session_consume_connection(session, size);
    Stream* stream = stream_of(session, id);
    if (stream == nullptr || stream->listener_ == nullptr) return 0;
    return guarded(session, id, [&] { stream->listener_->on_data(view(bytes, size)); });
  }

  static int stream_closed(nghttp2_session* session, std::int32_t id, std::uint32_t, void* user) {
    Stream* stream = stream_of(session, id);
    if (stream == nullptr) return 0;
    return guarded([&] { self(user).end_stream(*stream); });
  }

  // A frame that nghttp2 answers with RST_STREAM, such as a request beyond max_streams.
  static int invalid_frame(nghttp2_session*, const nghttp2_frame*, int, void* user) {
    self(user).in_block_ = false;
    if (!self(user).guard_.take_reset()) self(user).flooded();
    return 0;
  }

  static int frame_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    // A stream has many answers, and clients send control frames for each.
    if (frame->hd.type == NGHTTP2_DATA && frame->hd.length > 0) self(user).guard_.answered();
    const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (!ends || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)) return 0;
    Stream* stream = stream_of(session, frame->hd.stream_id);
    if (stream == nullptr) return 0;
    stream->answered_ = true;
    // The reply is complete, so the client need not send the rest of its request (RFC 9113, section 8.1).
    if (!stream->client_ended_) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    }
    return 0;
  }

  static ssize_t read(nghttp2_session*, std::int32_t, std::uint8_t* space, std::size_t size, std::uint32_t* flags,
                      nghttp2_data_source* source, void* user) {
    Stream& stream = *static_cast<Stream*>(source->ptr);
    ssize_t result = NGHTTP2_ERR_CALLBACK_FAILURE;
    guarded([&] { result = static_cast<ssize_t>(self(user).read_output(stream, space, size, *flags)); });
    return result;
  }

  static nghttp2_session_callbacks* make() {
    nghttp2_session_callbacks* made = nullptr;
    if (nghttp2_session_callbacks_new(&made) != 0) throw std::bad_alloc();
    nghttp2_session_callbacks_set_on_begin_frame_callback(made, &begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(made, &begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(made, &header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(made, &frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, &data);
    nghttp2_session_callbacks_set_on_stream_close_callback(made, &stream_closed);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(made, &invalid_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(made, &frame_sent);
    return made;
  }

  static nghttp2_option* make_options() {
    nghttp2_option* made = nullptr;
    if (nghttp2_option_new(&made) != 0) throw std::bad_alloc();
    nghttp2_option_set_no_auto_window_update(made, 1);
    nghttp2_option_set_no_closed_streams(made, 1);
    // FloodGuard counts resets. nghttp2 would also count those of answered streams, and allow 33 a second.
    constexpr std::uint64_t kAnyNumber = 1'000'000'000;
    nghttp2_option_set_stream_reset_rate_limit(made, kAnyNumber, kAnyNumber);
    return made;
  }
};

Session::Session(const SessionLimits& limits, Handler& handler, SessionMemory& memory, Owner& owner, std::string peer)
    : limits_(limits), handler_(handler), memory_(memory), owner_(owner), peer_(std::move(peer)), guard_(limits) {
  static const nghttp2_session_callbacks* const callbacks = Callbacks::make();
  static const nghttp2_option* const options = Callbacks::make_options();
  if (nghttp2_session_server_new3(&session_, callbacks, this, options, memory.blocks.hooks()) != 0)
    throw std::bad_alloc();
  const std::array settings{nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.max_streams},
                            nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.stream_window},
                            nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kMaxFrame},
                            nghttp2_settings_entry{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
                            nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
                                                   static_cast<std::uint32_t>(limits.max_header_bytes)}};
  broken(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size()));
  broken(nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, limits.connection_window));
}

Session::~Session() {
  close();
  nghttp2_session_del(session_);
}

// Notes a fatal error of nghttp2, and returns whether the session is broken.
bool Session::broken(int result) {
  if (result < 0 && nghttp2_is_fatal(result) != 0) broken_ = true;
  return broken_;
}

bool Session::feed(std::span<const char> bytes) {
  if (broken_) return false;
  if (ending_) return true;
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const ssize_t taken = nghttp2_session_mem_recv(session_, data, bytes.size());
  if (taken == NGHTTP2_ERR_FLOODED) {
    flooded();
    return true;
  }
  if (taken < 0) broken_ = true;
  return !broken_;
}

bool Session::pull(std::string& out, std::size_t enough) {
  while (!broken_ && out.size() < enough) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
    if (size <= 0) {
      broken_ = size < 0;
      break;
    }
    out.append(view(bytes, static_cast<std::size_t>(size)));
  }
  return !broken_;
}

bool Session::finished() const {
  return broken_ || (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0);
}

void Session::tick() { guard_.tick(); }

void Session::announce_drain() {
  if (ending_ || broken(nghttp2_submit_shutdown_notice(session_))) return;
  owner_.output_ready();
}

void Session::drain() {
  const std::int32_t last = nghttp2_session_get_last_proc_stream_id(session_);
  if (ending_ || broken(nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0))) return;
  owner_.output_ready();
}

void Session::ping() {
  if (ending_ || broken(nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr))) return;
  owner_.output_ready();
}

void Session::flooded() {
  if (std::exchange(ending_, true)) return;
  ++floods_;
  broken(nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM));
  owner_.output_ready();
}

void Session::close() {
  while (!streams_.empty()) release(streams_.front());
}

// Decoding a block costs as much as its bytes and frames, whatever is kept of it.
void Session::count_block_bytes(const nghttp2_frame_hd& frame) {
  if (frame.type == NGHTTP2_HEADERS) block_bytes_ = block_frames_ = 0;
  in_block_ = true;
  block_bytes_ += frame.length;
  if (block_bytes_ > limits_.max_header_block || ++block_frames_ > limits_.max_header_frames) flooded();
}

void Session::begin_stream(std::int32_t id) {
  Stream& stream = memory_.streams.take();
  stream.begin(*this, id);
  streams_.push_back(stream);
  ++open_streams_;
  broken(nghttp2_session_set_stream_user_data(session_, id, &stream));
}

void Session::add_header(Stream& stream, std::string_view name, std::string_view value) {
  constexpr std::size_t kOverhead = 32;  // RFC 9113, section 6.5.2
  stream.header_bytes_ += name.size() + value.size() + kOverhead;
  if (stream.header_bytes_ > limits_.max_header_bytes) {
    stream.headers_too_large_ = true;
  } else {
    stream.headers_.add(name, value);
  }
}

void Session::begin_request(Stream& stream, bool ends) {
  ++requests_;
  handler_.on_request(stream);
  if (ends) end_request(stream);
}

void Session::end_request(Stream& stream) {
  stream.client_ended_ = true;
  if (stream.listener_ != nullptr) stream.listener_->on_end();
}

// A stream that ends unanswered was reset by the client, or by the server for a fault of the client.
// The client chooses the code of its resets, so NO_ERROR counts as any other.
void Session::end_stream(Stream& stream) {
  if (!stream.answered_ && !guard_.take_reset()) flooded();
  release(stream);
}

void Session::release(Stream& stream) {
  streams_.erase(streams_.iterator_to(stream));
  --open_streams_;
  waiting_bytes_ -= stream.waiting_bytes();
  nghttp2_session_set_stream_user_data(session_, stream.id_, nullptr);
  StreamListener* listener = std::exchange(stream.listener_, nullptr);
  if (listener != nullptr) listener->on_closed();
  stream.clear();
  memory_.streams.give_back(stream);
}

void Session::submit_response(Stream& stream, std::span<const Field> headers, bool end) {
  std::array<nghttp2_nv, Stream::kMaxFields> fields;
  const std::size_t count = std::min(headers.size(), fields.size());
  for (std::size_t i = 0; i < count; ++i) fields[i] = nv_of(headers[i]);
  nghttp2_data_provider body{.source = {.ptr = &stream}, .read_callback = &Callbacks::read};
  broken(nghttp2_submit_response(session_, stream.id_, fields.data(), count, end ? nullptr : &body));
  owner_.output_ready();
}

void Session::resume(Stream& stream) {
  if (!std::exchange(stream.deferred_, false)) return;
  broken(nghttp2_session_resume_data(session_, stream.id_));
  owner_.output_ready();
}

void Session::submit_trailers(Stream& stream) {
  std::array<nghttp2_nv, Stream::kMaxFields> fields;
  const std::size_t count = std::min(stream.trailers_.size(), fields.size());
  for (std::size_t i = 0; i < count; ++i) fields[i] = nv_of(stream.trailers_[i]);
  broken(nghttp2_submit_trailer(session_, stream.id_, fields.data(), count));
}

std::int64_t Session::read_output(Stream& stream, std::uint8_t* space, std::size_t size, std::uint32_t& flags) {
  const std::size_t taken = std::min(size, stream.waiting_bytes());
  if (taken > 0) std::memcpy(space, stream.output_.data() + stream.sent_, taken);
  stream.sent_ += taken;
  waiting_bytes_ -= taken;
  if (stream.waiting_bytes() > 0) return static_cast<std::int64_t>(taken);
  stream.output_.clear();
  stream.sent_ = 0;
  if (stream.ended_) {
    flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!stream.trailers_.empty()) {
      flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      submit_trailers(stream);
    }
    return static_cast<std::int64_t>(taken);
  }
  if (taken > 0) {
    if (stream.listener_ != nullptr) stream.listener_->on_writable();
    return static_cast<std::int64_t>(taken);
  }
  stream.deferred_ = true;
  return NGHTTP2_ERR_DEFERRED;
}

void Stream::begin(Session& session, std::int32_t id) {
  session_ = &session;
  id_ = id;
}

void Stream::clear() {
  session_ = nullptr;
  listener_ = nullptr;
  headers_.clear();
  trailers_.clear();
  output_.clear();
  if (output_.capacity() > kKeptOutput) output_.shrink_to_fit();
  sent_ = header_bytes_ = 0;
  headers_too_large_ = client_ended_ = responded_ = ended_ = answered_ = deferred_ = false;
}

std::string_view Stream::peer() const { return session_->peer(); }

void Stream::respond(std::span<const Field> headers, bool end) {
  responded_ = true;
  ended_ = end;
  session_->submit_response(*this, headers, end);
}

void Stream::write(std::string_view bytes, std::string_view more) {
  const std::size_t before = output_.size();
  const std::size_t after = before + bytes.size() + more.size();
  // libstdc++ 12 may pass more than `after`.
  output_.resize_and_overwrite(after, [&](char* text, std::size_t) {
    char* const to = text + before;
    more.copy(to + bytes.copy(to, bytes.size()), more.size());
    return after;
  });
  session_->waiting_bytes_ += after - before;
  session_->resume(*this);
}

void Stream::end(std::span<const Field> trailers) {
  for (const Field& field : trailers) trailers_.add(field.name, field.value);
  ended_ = true;
  session_->resume(*this);
}

void Stream::reset(StreamError error) {
  const auto code = static_cast<std::uint32_t>(error);
  session_->broken(nghttp2_submit_rst_stream(session_->session_, NGHTTP2_FLAG_NONE, id_, code));
  session_->owner_.output_ready();
}

void Stream::credit(std::size_t bytes) {
  if (client_ended_) return;
  session_->broken(nghttp2_session_consume_stream(session_->session_, id_, bytes));
  session_->owner_.output_ready();
}

}  // namespace sluice::http2
