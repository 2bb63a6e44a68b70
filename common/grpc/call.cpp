#include "common/grpc/call.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/grpc/dispatcher.hpp"
#include "common/grpc/timeout.hpp"
#include "common/tracing/attribute_names.hpp"

namespace sluice::grpc {
namespace {

constexpr std::string_view kContentType = "application/grpc";
constexpr http::Ticks kArrival = http::in_ticks(std::chrono::seconds(10));
constexpr std::chrono::hours kLongestTimeout{24 * 365};

// "application/grpc", "application/grpc+proto", and either with parameters.
bool is_grpc(std::string_view type) {
  if (!type.starts_with(kContentType)) return false;
  type.remove_prefix(kContentType.size());
  constexpr std::string_view kProto = "+proto";
  if (type.starts_with(kProto)) type.remove_prefix(kProto.size());
  return type.empty() || type.front() == ';';
}

// Of these codes the server is to blame, as OpenTelemetry's conventions for gRPC have it.
bool is_failure(Code code) {
  return code == Code::unknown || code == Code::deadline_exceeded || code == Code::unimplemented ||
         code == Code::internal || code == Code::unavailable || code == Code::data_loss;
}

}  // namespace

void Call::begin(http2::Stream& stream) {
  stream_ = &stream;
  stream.listen(*this);
  label_ = dispatcher_.routes_.size();
  if (!speaks_grpc()) return;
  if (stream.headers_too_large()) {
    return end_for({Code::resource_exhausted, "The metadata is too large: at most 8 KiB are taken."});
  }
  const std::string_view path = stream.header(":path");
  const Dispatcher::Route* route = dispatcher_.find(path);
  if (route == nullptr) {
    return end_for(
        {Code::unimplemented, fmt::format("There is no method {}; reflection lists what there is.", quoted(path))});
  }
  service_ = route->service;
  method_ = route->method;
  label_ = route->label;
  if (dispatcher_.tracer_ != nullptr && service_->is_traced()) [[unlikely]]
    begin_span(stream.header("traceparent"), stream.header("tracestate"));
  const Method& method = service_->methods()[method_];
  if (!read_deadline()) return;
  reader_.begin(method.max_message);
  streams_ = method.client_streams;
  arrive_by_ = dispatcher_.tick_ + kArrival;
  if (!streams_) return;
  try {
    service_->open(method_, Reply(*this));
  } catch (const std::bad_alloc&) {  // ~Reply() has answered
  }
  watch_deadline();
  if (dispatcher_.draining_) drain();
}

bool Call::speaks_grpc() {
  if (stream_->header(":method") != "POST") {
    refuse_http("405");
    return false;
  }
  if (!is_grpc(stream_->header("content-type"))) {
    refuse_http("415");
    return false;
  }
  return true;
}

bool Call::read_deadline() {
  const std::string_view text = stream_->header("grpc-timeout");
  if (text.empty()) return true;
  const auto timeout = parse_timeout(text);
  if (!timeout) {
    end_for({Code::invalid_argument,
             fmt::format("grpc-timeout must be digits and one of H, M, S, m, u, n; got {}.", quoted(text))});
    return false;
  }
  has_deadline_ = true;
  ends_by_ = dispatcher_.alarm_.now() + std::min<std::chrono::milliseconds>(*timeout, kLongestTimeout);
  return true;
}

// Most calls are answered before anyone need look at their deadline.
void Call::watch_deadline() {
  if (has_deadline_ && !finished_ && !is_watched()) dispatcher_.deadlines_.watch(*this, ends_by_);
}

void Call::on_deadline() { end_for({Code::deadline_exceeded, "The deadline of the call has passed."}); }

void Call::handle() {
  try {
    service_->handle(method_, reader_.message(), Reply(*this));
  } catch (const std::bad_alloc&) {  // ~Reply() has answered
  }
  watch_deadline();
}

void Call::on_data(std::string_view bytes) {
  if (finished_ || service_ == nullptr) return;
  if (dispatcher_.buffered_ + bytes.size() > Dispatcher::kMaxBuffered) {
    return end_for({Code::resource_exhausted, "Too many bytes of messages wait in the server; try again later."});
  }
  reader_.push(bytes);
  take_buffered();
  if (streams_) return read_messages();
  if (arrived_) return end_for({Code::unimplemented, "The method takes one message; the client sent more."});
  deliver_one();
  if (stream_ != nullptr) stream_->credit(bytes.size());
}

// Counts the bytes that the reader holds.
void Call::take_buffered() {
  dispatcher_.buffered_ += reader_.waiting_bytes() - std::exchange(buffered_, reader_.waiting_bytes());  // modulo 2^64
}

// A message goes to the service when the client has ended, because a second one would be a fault.
void Call::deliver_one() {
  const MessageReader::Step step = reader_.next();
  if (step == MessageReader::Step::need_more) {
    if (half_closed_) end_for({Code::invalid_argument, "The call ended before its message was complete."});
    return;
  }
  if (step != MessageReader::Step::message) return refuse(step);
  if (!reader_.empty()) return end_for({Code::unimplemented, "The method takes one message; the client sent more."});
  arrived_ = true;
  if (half_closed_) handle();
}

void Call::on_end() {
  half_closed_ = true;
  if (finished_ || service_ == nullptr) return;
  if (streams_) return read_messages();
  if (!arrived_) return deliver_one();
  handle();
}

void Call::read_messages() {
  if (std::exchange(reading_, true)) return;
  const boost::intrusive_ptr<Call> self(this);
  auto step = MessageReader::Step::message;
  while (!paused_ && !finished_ && listener_ != nullptr && step == MessageReader::Step::message) {
    step = reader_.next();
    if (step == MessageReader::Step::message) {
      const std::span<char> message = reader_.message();
      if (stream_ != nullptr) stream_->credit(kPrefix + message.size());
      listener_->on_message(message);
    } else if (step != MessageReader::Step::need_more) {
      refuse(step);
    }
  }
  reading_ = false;
  take_buffered();
  if (step != MessageReader::Step::need_more || !half_closed_ || finished_ || listener_ == nullptr) return;
  if (!reader_.empty()) return end_for({Code::invalid_argument, "The call ended before its message was complete."});
  listener_->on_half_close();
}

void Call::refuse(MessageReader::Step step) {
  const std::size_t limit = service_->methods()[method_].max_message;
  switch (step) {
    case MessageReader::Step::compressed:
      return end_for({Code::unimplemented, "Messages are not decompressed: send them with grpc-encoding identity."});
    case MessageReader::Step::too_large:
      return end_for(
          {Code::resource_exhausted, fmt::format("The message is too large: at most {} bytes are taken.", limit)});
    default:
      return end_for({Code::internal, "A message begins with a flag that gRPC does not know."});
  }
}

void Call::go_on() {
  paused_ = false;
  if (streams_ && stream_ != nullptr) read_messages();
}

void Call::on_writable() {
  if (listener_ != nullptr) listener_->on_writable();
}

void Call::on_closed() {
  stream_ = nullptr;
  forget_deadline();
  CallListener* listener = std::exchange(listener_, nullptr);
  if (!std::exchange(finished_, true)) {
    ended(Code::cancelled);
    if (listener != nullptr) listener->on_over();
  }
  dispatcher_.open_.erase(dispatcher_.open_.iterator_to(*this));
  release();
}

void Call::tick(http::Ticks now) {
  if (finished_) return;
  watch_deadline();  // of a call whose message has not arrived
  if (!streams_ && !half_closed_ && http::is_past(arrive_by_, now)) {
    end_for({Code::deadline_exceeded, "The message did not arrive within 10 s."});
  }
}

void Call::drain() {
  if (!finished_ && listener_ != nullptr) listener_->on_drain();
}

// Ends the call although the service may still work on it.
void Call::end_for(const Status& status) {
  const boost::intrusive_ptr<Call> self(this);
  CallListener* listener = std::exchange(listener_, nullptr);
  finish(status, {}, false);
  if (listener != nullptr) listener->on_over();
}

void Call::refuse_http(std::string_view status) {
  finished_ = true;
  ended(Code::unknown);
  stream_->respond({{":status", status}}, true);
}

void Call::write_headers() {
  if (std::exchange(began_, true)) return;
  stream_->respond({{":status", "200"}, {"content-type", kContentType}});
}

void Call::send(std::string_view message) {
  if (over()) return;
  write_headers();
  const auto prefix = prefix_of(message);
  stream_->write({prefix.data(), prefix.size()}, message);
}

// If there is no memory for the message, the service can still answer with a status. If there is none for the status,
// the stream is reset.
void Call::finish(const Status& status, std::string_view message, bool with_message) {
  if (over()) return;
  if (with_message) send(message);
  finished_ = true;
  forget_deadline();
  listener_ = nullptr;
  try {
    ended(status.code);
    send_status(status);
  } catch (const std::bad_alloc&) {
    stream_->reset(http2::StreamError::internal_error);
  }
}

void Call::send_status(const Status& status) {
  std::array<http2::Field, 6> fields{};
  std::size_t count = 0;
  if (!began_) {  // the status comes with the header fields
    fields[count++] = {":status", "200"};
    fields[count++] = {"content-type", kContentType};
  }
  fields[count++] = {"grpc-status", number_of(status.code)};
  if (!status.message.empty()) {
    dispatcher_.message_.clear();
    append_message(status.message, dispatcher_.message_);
    fields[count++] = {"grpc-message", dispatcher_.message_};
  }
  if (!status.details.empty()) {
    dispatcher_.details_.clear();
    append_binary(status.details, dispatcher_.details_);
    fields[count++] = {"grpc-status-details-bin", dispatcher_.details_};
  }
  if (status.code == Code::unimplemented) fields[count++] = {"grpc-accept-encoding", "identity"};
  const std::span<const http2::Field> all(fields.data(), count);
  if (began_) return stream_->end(all);
  began_ = true;
  stream_->respond(all, true);
}

void Call::ended(Code code) {
  dispatcher_.observer_.ended(label_, code);
  if (span_) [[unlikely]]
    end_span(code);
}

void Call::trace_below(std::string_view traceparent, std::string_view tracestate) {
  if (dispatcher_.tracer_ == nullptr || over()) return;
  span_.discard();
  begin_span(traceparent, tracestate);
}

void Call::begin_span(std::string_view traceparent, std::string_view tracestate) {
  namespace attribute = tracing::attribute;
  span_ = dispatcher_.tracer_->start_request("gRPC", tracing::SpanKind::server, traceparent, tracestate);
  if (!span_) return;
  span_->name.assign(service_->name()).append("/").append(service_->methods()[method_].name);
  span_->set(attribute::kRpcSystem, "grpc");
  span_->set(attribute::kRpcMethod, span_->name);
  if (!peer().empty()) span_->set(attribute::kNetworkPeerAddress, peer());
}

void Call::end_span(Code code) {
  span_->set(tracing::attribute::kRpcStatus, to_string(code));
  if (is_failure(code)) span_->fail(to_string(code));
  span_.end();
}

std::string_view Call::metadata(std::string_view name) const {
  return stream_ != nullptr ? stream_->header(name) : std::string_view();
}

void Call::release() noexcept {
  if (--references_ > 0) return;
  reader_.clear();
  dispatcher_.buffered_ -= std::exchange(buffered_, 0);
  listener_ = nullptr;
  service_ = nullptr;
  has_deadline_ = streams_ = began_ = finished_ = half_closed_ = arrived_ = paused_ = reading_ = false;
  dispatcher_.pool_.give_back(*this);
}

void intrusive_ptr_add_ref(Call* call) noexcept { call->retain(); }
void intrusive_ptr_release(Call* call) noexcept { call->release(); }

Reply::Reply(Call& call) : call_(&call) {}

Reply& Reply::operator=(Reply&& other) noexcept {
  call_.swap(other.call_);
  return *this;
}

// An exception that destroys a Reply is a failed allocation.
Reply::~Reply() {
  if (!call_) return;
  call_->set_listener(nullptr);
  if (call_->finished()) return;
  call_->finish(std::uncaught_exceptions() > 0 ? kNoMemory : Status{Code::internal, "The service gave no answer."}, {},
                false);
}

std::string_view Reply::metadata(std::string_view name) const { return call_->metadata(name); }
std::string_view Reply::peer() const { return call_->peer(); }
bool Reply::over() const { return call_->over(); }
const tracing::ActiveSpan& Reply::span() const { return call_->span(); }
void Reply::trace_below(std::string_view traceparent, std::string_view tracestate) {
  call_->trace_below(traceparent, tracestate);
}

bool Reply::listen(CallListener& listener) {
  if (call_->over()) return false;
  call_->set_listener(&listener);
  return true;
}

void Reply::finish(std::string_view message) { call_->finish({}, message, true); }
void Reply::finish(const Status& status) { call_->finish(status, {}, false); }
void Reply::send(std::string_view message) { call_->send(message); }
std::size_t Reply::waiting_bytes() const { return call_->waiting_bytes(); }
void Reply::pause() { call_->pause(); }
void Reply::go_on() { call_->go_on(); }

}  // namespace sluice::grpc
