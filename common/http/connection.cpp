#include "common/http/connection.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <fmt/core.h>

#include "common/http/connection_host.hpp"
#include "common/http/problem.hpp"

namespace sluice::http {
namespace {

using Phase = RequestParser::Phase;
using Step = RequestParser::Step;

}  // namespace

// Runs the work of one event. Without memory for it, the connection closes.
template <class Event>
void Connection::run(Event event) {
  try {
    event();
  } catch (const std::bad_alloc&) {
    busy_ = false;
    close();
  }
}

void Connection::on_read(IoResult result, std::size_t bytes) {
  run([&] { take_read(result, bytes); });
}

void Connection::on_handshake(IoResult result) {
  run([&] { take_handshake(result); });
}

void Connection::on_written(IoResult result, std::size_t bytes) {
  run([&] { take_written(result, bytes); });
}

void Connection::resume() {
  run([&] {
    if (!closed_) advance();
  });
}

void Connection::start() {
  run([&] { begin(); });
}

void Connection::tick() {
  run([&] { take_tick(); });
}

void Connection::drain() {
  run([&] { take_drain(); });
}

void Connection::take_read(IoResult result, std::size_t bytes) {
  reading_ = false;
  if (closed_) return release_stream();
  const bool asked = std::exchange(cancelling_, false);
  if (result == IoResult::failed || (result == IoResult::cancelled && !asked)) return close();
  if (result == IoResult::end) {
    peer_done_ = true;
    notify_peer_left();
  }
  if (lingering_) {
    lingered_ += bytes;
    return peer_done_ || lingered_ > ConnectionHost::kMaxLinger ? close() : read_more();
  }
  if (result == IoResult::cancelled) release_memory();
  if (result == IoResult::ok) input_.commit(bytes);
  advance();
}

void Connection::take_written(IoResult result, std::size_t bytes) {
  writing_ = false;
  if (closed_) return release_stream();
  if (result != IoResult::ok) return close();
  out_.consume(bytes);
  if (bytes < writing_bytes_) return wait_to_write();
  advance();
}

void Connection::answer(std::uint64_t slot, const Response& response) {
  if (closed_) return;
  if (admission_slot_ == slot) {  // the body will not be read, so no request behind it can be found
    admission_slot_.reset();
    last_read_ = linger_at_end_ = true;
  }
  const bool last_closes = host_->draining() && between_requests();
  try {
    replies_.answer(slot, response, host_->date(), last_closes, out_);
    if (!busy_) host_->mark_dirty(*this);
  } catch (const std::bad_alloc&) {
    answer_without_memory(slot);
  }
}

void Connection::answer_without_memory(std::uint64_t slot) {
  try {
    const bool answered = replies_.answer(slot, kNoMemoryResponse, host_->date(), false, out_);
    if (answered && !busy_) host_->mark_dirty(*this);
    if (answered) return;
  } catch (const std::bad_alloc&) {  // closes
  }
  close();
}

void Connection::read_body(std::uint64_t slot, std::shared_ptr<void> held, std::size_t limit) {
  if (closed_ || admission_slot_ != slot) return;
  admission_slot_.reset();
  parser_.request().held = std::move(held);
  parser_.set_body_limit(std::min(parser_.body_limit(), limit));
  replies_.withdraw();  // handle() gets a new slot
  if (!busy_) host_->mark_dirty(*this);
}

// Parses and writes again if the write made room for requests that had to wait.
void Connection::advance() {
  busy_ = true;
  bool again = true;
  while (again && !closed_) {
    parse_input();
    serve_streams();
    if (!closed_) write_output();
    again = blocked_ && !must_wait();
  }
  busy_ = false;
  if (closed_) {
    release_stream();
  } else {
    settle();
  }
}

bool Connection::must_wait() const {
  return admission_slot_ || replies_.streams() > 0 || replies_.unsent() >= host_->options().max_pipelined ||
         waiting_output() > kMaxWaitingOutput;
}

void Connection::parse_input() {
  blocked_ = must_wait();
  while (!closed_ && !blocked_ && !last_read_ && !close_after_refusal_ && !replies_.closed() && !input_.empty()) {
    const Step step = parser_.feed(input_.data(), input_.size());
    input_.consume(parser_.consumed());  // the request's views stay valid until the next read
    if (!take_step(step)) return;
    blocked_ = must_wait();
  }
}

// Returns whether parsing goes on.
bool Connection::take_step(Step step) {
  switch (step) {
    case Step::need_more:
      track_phase();
      return false;
    case Step::head:
      begin_body();
      return true;
    case Step::complete:
      timed_ = Phase::idle;
      handle_request();
      return true;
    case Step::refused:
      timed_ = Phase::idle;
      if (lacks_more_than_a_length()) {
        handle_request();
      } else {
        refuse(parser_.refusal());
      }
      return true;
    case Step::close_after_refusal:
      break;
  }
  close_after_refusal_ = true;
  return false;
}

// A refusal for the path or the method says more than one for the missing length. REQUIRES: parser_ has refused.
bool Connection::lacks_more_than_a_length() const {
  return parser_.refusal().status == 411 && !host_->handler_.answers(parser_.request().method, parser_.request().path);
}

void Connection::begin_body() {
  Handler& handler = host_->handler_;
  const std::size_t limit = handler.body_limit(parser_.request().method, parser_.request().path);
  parser_.set_body_limit(limit);
  const auto length = parser_.body_length();
  const bool too_large = length && *length > limit;
  if (limit <= Handler::kUnaskedBody || too_large || (length && *length <= Handler::kUnaskedBody)) return;
  admission_slot_ = replies_.open({.close = true, .head = parser_.is_head(), .http10 = !parser_.http11()});
  try {
    handler.admit(parser_.request(), Admission(Reply(this, *admission_slot_)));
  } catch (const std::bad_alloc&) {  // ~Reply() has answered
  }
}

void Connection::handle_request() {
  ++host_->stats_.requests;
  last_read_ = !parser_.keep_alive();
  const ReplyShape shape{.close = last_read_, .head = parser_.is_head(), .http10 = !parser_.http11()};
  bool opened = false;
  try {
    const std::uint64_t slot = replies_.open(shape);
    opened = true;
    host_->handler_.handle(parser_.request(), Reply(this, slot));
  } catch (const std::bad_alloc&) {
    if (!opened) answer_without_memory(replies_.open(shape));  // otherwise ~Reply() has answered
  }
  parser_.request().held.reset();
}

void Connection::refuse(const Refusal& refusal) {
  ++host_->stats_.bad_requests;
  host_->handler_.refused(refusal);
  parser_.request().held.reset();
  if (refusal.close) last_read_ = linger_at_end_ = true;
  const std::uint64_t slot =
      replies_.open({.close = refusal.close, .head = parser_.is_head(), .http10 = !refusal.close && !parser_.http11()});
  std::string detail(refusal.detail);
  if (refusal.status == 413) detail += fmt::format(" The limit is {} bytes.", parser_.body_limit());
  std::string& body = host_->scratch_;
  body.clear();
  write_problem({.status = refusal.status, .type = refusal.type, .detail = detail}, body);
  answer(slot, {.status = refusal.status,
                .content_type = kProblemType,
                .headers = host_->options().refusal_headers,
                .body = body});
}

void Connection::track_phase() {
  const Phase phase = parser_.phase();
  if (phase == timed_) return;
  timed_ = phase;
  if (phase == Phase::body && parser_.expects_continue()) replies_.announce_continue(out_);
  const auto& timeouts = host_->timeouts_;
  if (phase != Phase::idle) read_deadline_ = host_->tick_ + (phase == Phase::head ? timeouts.header : timeouts.body);
}

void Connection::write_output() {
  while (!writing_ && !out_.empty()) {
    const std::string_view text = out_.next();
    std::size_t sent = 0;
    if (write_now(text, sent) != IoResult::ok) return close();
    const bool sent_all = sent == text.size() && sent < Output::kSlice;
    out_.consume(sent);
    if (!sent_all && !out_.empty()) wait_to_write();
  }
}

void Connection::wait_to_write() {
  const std::string_view text = out_.next();
  writing_bytes_ = text.size();
  write_deadline_ = host_->tick_ + host_->timeouts_.write;
  start_write(text);
  writing_ = true;
}

bool Connection::is_idle() const { return replies_.unsent() == 0 && out_.empty() && between_requests(); }

void Connection::count_waiting(std::size_t bytes) {
  std::uint64_t& total = host_->stats_.waiting_output;
  total += bytes - std::exchange(counted_waiting_, bytes);  // modulo 2^64
}

// Decides after each event whether to read, close, or wait.
void Connection::settle() {
  count_waiting(waiting_output());
  if (writing_ && host_->stats_.waiting_output > host_->options().max_waiting_output) {
    ++host_->stats_.slow_readers;
    return close();
  }
  if (out_.empty() && settle_flushed()) return;
  if (is_idle()) read_deadline_ = host_->tick_ + host_->timeouts_.idle;
  const bool wants_more = !last_read_ && !close_after_refusal_ && !replies_.closed() && !blocked_;
  if (!peer_done_ && (wants_more || watches_peer())) read_more();
  if (!writing_ && replies_.stream_waits())
    host_->mark_dirty(*this);  // on_writable() follows after other connections have had their turn
}

// Returns whether the connection is closed, or lingers before it closes. REQUIRES: all output is sent.
bool Connection::settle_flushed() {
  if (replies_.closed() || (close_after_refusal_ && replies_.unsent() == 0)) {
    finish();
    return true;
  }
  const bool nothing_comes = peer_done_ && (replies_.streaming() || (replies_.unsent() == 0 && !blocked_));
  if (nothing_comes || (host_->draining() && is_idle() && !input_waiting())) {
    close();
    return true;
  }
  return false;
}

// Closing a socket with unread input makes the kernel send a TCP reset, which may reach the client before the reply. So
// if input may be unread, the connection lingers: it shuts the output, and reads and drops input for a while.
void Connection::finish() {
  const bool unread = linger_at_end_ || close_after_refusal_ || !input_.empty() || input_waiting();
  if (!unread || peer_done_) return close();
  shut_output();
  lingering_ = true;
  read_deadline_ = host_->tick_ + ConnectionHost::kLingerTicks;
  read_more();
}

void Connection::read_more() {
  if (reading_) return;
  if (lingering_) input_.clear();
  start_read(input_.prepare(parser_.wanted()));
  reading_ = true;
}

}  // namespace sluice::http
