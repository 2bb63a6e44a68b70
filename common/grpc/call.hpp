// One call: from the header fields of its stream to its status.
//
// Ownership: reference-counted without atomics, by its stream and by its Reply. A call without references goes back to
// the pool of its Dispatcher. Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <boost/intrusive/list.hpp>

#include "common/grpc/deadlines.hpp"
#include "common/grpc/message_reader.hpp"
#include "common/grpc/service.hpp"
#include "common/grpc/status.hpp"
#include "common/http/host.hpp"
#include "common/http2/stream.hpp"
#include "common/tracing/tracer.hpp"

namespace sluice::grpc {

class Dispatcher;

class Call final : public boost::intrusive::list_base_hook<>, public DeadlineHolder, private http2::StreamListener {
 public:
  explicit Call(Dispatcher& dispatcher) : dispatcher_(dispatcher) {}
  Call(const Call&) = delete;

  // Reads the header fields. REQUIRES: the call comes from the pool.
  void begin(http2::Stream& stream);

  // Throws std::bad_alloc only with a message; the call is not finished then.
  void finish(const Status& status, std::string_view message, bool with_message);
  void send(std::string_view message);
  void pause() { paused_ = true; }
  void go_on();
  void tick(http::Ticks now);
  void drain();

  std::string_view metadata(std::string_view name) const;
  std::string_view peer() const { return stream_ != nullptr ? stream_->peer() : std::string_view(); }
  std::size_t waiting_bytes() const { return stream_ != nullptr ? stream_->waiting_bytes() : 0; }
  bool over() const { return stream_ == nullptr || finished_; }
  void set_listener(CallListener* listener) { listener_ = listener; }
  bool finished() const { return finished_; }
  const tracing::ActiveSpan& span() const { return span_; }
  void trace_below(std::string_view traceparent, std::string_view tracestate);

  void retain() noexcept { ++references_; }
  void release() noexcept;

 private:
  void on_data(std::string_view bytes) override;
  void on_end() override;
  void on_writable() override;
  void on_closed() override;
  void on_deadline() override;

  bool speaks_grpc();
  bool read_deadline();
  void watch_deadline();
  void handle();
  void read_messages();
  void deliver_one();
  void refuse(MessageReader::Step step);
  void take_buffered();
  void refuse_http(std::string_view status);
  void write_headers();
  void send_status(const Status& status);
  void end_for(const Status& status);
  void ended(Code code);
  void begin_span(std::string_view traceparent, std::string_view tracestate);
  void end_span(Code code);

  Dispatcher& dispatcher_;
  http2::Stream* stream_ = nullptr;  // nullptr once it is closed
  CallListener* listener_ = nullptr;
  Service* service_ = nullptr;
  std::size_t method_ = 0;  // in the service
  std::size_t label_ = 0;   // see CallObserver
  MessageReader reader_;
  std::size_t buffered_ = 0;   // this call's part of Dispatcher::buffered_
  Deadlines::Time ends_by_;    // see has_deadline_
  http::Ticks arrive_by_ = 0;  // of a single message
  tracing::ActiveSpan span_;   // ends with finished_
  std::uint32_t references_ = 0;
  bool has_deadline_ = false;
  bool streams_ = false;   // the client streams
  bool began_ = false;     // the header fields of the answer are on their way
  bool finished_ = false;  // so is the status
  bool half_closed_ = false;
  bool arrived_ = false;  // the single message is with the service
  bool paused_ = false;
  bool reading_ = false;  // read_messages() is on the stack
};

}  // namespace sluice::grpc
