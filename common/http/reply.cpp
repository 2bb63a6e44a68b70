#include <exception>
#include <new>
#include <string>
#include <utility>

#include "common/http/problem.hpp"
#include "common/http/reply_sink.hpp"
#include "common/http/server.hpp"

namespace sluice::http {

Reply::Reply(ReplySink* sink, std::uint64_t slot) : sink_(sink), slot_(slot) {
  if (sink_ != nullptr) sink_->retain();
}

Reply::Reply(Reply&& other) noexcept : sink_(std::exchange(other.sink_, nullptr)), slot_(other.slot_) {}

Reply& Reply::operator=(Reply&& other) noexcept {
  Reply taken(std::move(other));
  std::swap(sink_, taken.sink_);
  std::swap(slot_, taken.slot_);
  return *this;
}

// An exception that destroys a Reply is a failed allocation.
Reply::~Reply() {
  if (sink_ == nullptr) return;
  if (std::uncaught_exceptions() > 0) {
    send(kNoMemoryResponse);
    return;
  }
  std::string body;
  try {
    write_problem({.status = 500, .type = "/problems/internal", .detail = "The request was dropped without an answer."},
                  body);
  } catch (const std::bad_alloc&) {
    send(kNoMemoryResponse);
    return;
  }
  send({.status = 500, .content_type = kProblemType, .body = body});
}

void Reply::send(const Response& response) {
  ReplySink* sink = std::exchange(sink_, nullptr);
  if (sink == nullptr) return;
  sink->answer(slot_, response);
  sink->release();
}

bool Reply::watch_peer(PeerWatcher& watcher) { return sink_ != nullptr && sink_->watch_peer(slot_, watcher); }

Stream Reply::stream(const Response& head, StreamEvents& events) {
  ReplySink* sink = std::exchange(sink_, nullptr);
  if (sink == nullptr) return {};
  Stream begun(sink->begin_stream(slot_, head, events) ? sink : nullptr, slot_);
  sink->release();
  return begun;
}

Stream::Stream(ReplySink* sink, std::uint64_t slot) : sink_(sink), slot_(slot) {
  if (sink_ != nullptr) sink_->retain();
}

Stream::Stream(Stream&& other) noexcept : sink_(std::exchange(other.sink_, nullptr)), slot_(other.slot_) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  Stream taken(std::move(other));
  std::swap(sink_, taken.sink_);
  std::swap(slot_, taken.slot_);
  return *this;
}

Stream::~Stream() { end(false); }

bool Stream::open() const { return sink_ != nullptr && sink_->stream_open(slot_); }

bool Stream::write(std::string_view piece) { return sink_ != nullptr && sink_->write_stream(slot_, piece); }

void Stream::finish() { end(true); }

void Stream::end(bool whole) {
  ReplySink* sink = std::exchange(sink_, nullptr);
  if (sink == nullptr) return;
  sink->end_stream(slot_, whole);
  sink->release();
}

void Admission::read_body(std::shared_ptr<void> held, std::size_t limit) {
  ReplySink* sink = std::exchange(reply_.sink_, nullptr);
  if (sink == nullptr) return;
  sink->read_body(reply_.slot_, std::move(held), limit);
  sink->release();
}

void Admission::refuse(const Response& response) { reply_.send(response); }

void Handler::admit(Request&, Admission admission) { admission.read_body(); }

}  // namespace sluice::http
