#include "common/http/reply_queue.hpp"

#include <utility>

namespace sluice::http {
namespace {

constexpr std::size_t kFirstSize = 4;  // most connections have one request under way
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

std::uint64_t ReplyQueue::open(ReplyShape shape) {
  if (held() == ring_.size()) grow();
  Slot& opened = slot(next_);
  opened.shape = shape;
  opened.state = State::open;
  opened.waits = false;
  opened.events = nullptr;
  opened.watcher = nullptr;
  opened.text.clear();
  opened.body.reset();
  return next_++;
}

void ReplyQueue::grow() {
  std::vector<Slot> larger(ring_.empty() ? kFirstSize : ring_.size() * 2);
  for (std::uint64_t number = first_; number != next_; ++number) {
    larger[number & (larger.size() - 1)] = std::move(slot(number));
  }
  ring_ = std::move(larger);
}

ReplyQueue::Slot* ReplyQueue::take_open(std::uint64_t number, bool last_closes) {
  if (closed_ || number < first_ || number >= next_) return nullptr;
  Slot& taken = slot(number);
  if (taken.state != State::open) return nullptr;
  if (last_closes && number + 1 == next_) taken.shape.close = true;
  return &taken;
}

bool ReplyQueue::answer(std::uint64_t number, const Response& response, std::string_view date, bool last_closes,
                        Output& out) {
  Slot* answered = take_open(number, last_closes);
  if (answered == nullptr) return false;
  std::string& text = text_of(number, out);
  const std::size_t size_before = text.size();
  try {
    if (write_response(response, answered->shape, date, text)) answered->body = response.shared_body;
  } catch (...) {
    text.resize(size_before);
    throw;
  }
  answered->state = State::ready;
  if (number == first_) output_ready(out);
  return true;
}

bool ReplyQueue::begin_stream(std::uint64_t number, const Response& head, std::string_view date, bool last_closes,
                              StreamEvents& events, Output& out) {
  Slot* begun = take_open(number, last_closes);
  if (begun == nullptr) return false;
  if (begun->shape.http10) begun->shape.close = true;  // HTTP/1.0 has no other mark for the end of the body
  std::string& text = text_of(number, out);
  if (!write_stream_head(head, begun->shape, date, text)) {
    begun->state = State::ready;
    if (number == first_) output_ready(out);
    return false;
  }
  begun->state = State::streaming;
  begun->events = &events;
  ++streams_;
  write_piece(head.content(), begun->shape, text);
  return true;
}

bool ReplyQueue::stream_open(std::uint64_t number) const {
  return !closed_ && number >= first_ && number < next_ && ring_[number & (ring_.size() - 1)].state == State::streaming;
}

void ReplyQueue::write(std::uint64_t number, std::string_view piece, Output& out) {
  write_piece(piece, slot(number).shape, out.text());
}

void ReplyQueue::end_stream(std::uint64_t number, bool whole, Output& out) {
  if (number < first_ || number >= next_ || slot(number).state != State::streaming) return;
  slot(number).events = nullptr;
  end(number, whole, out);
}

void ReplyQueue::end(std::uint64_t number, bool whole, Output& out) {
  Slot& ended = slot(number);
  ended.state = State::ready;
  ended.waits = false;
  --streams_;
  if (whole) {
    write_last_piece(ended.shape, text_of(number, out));
  } else {
    ended.shape.close = true;
  }
  if (number == first_) output_ready(out);
}

StreamEvents* ReplyQueue::finish_next(Output& out) {
  for (std::uint64_t number = first_; number != next_ && streams_ > 0; ++number) {
    if (!stream_open(number)) continue;
    StreamEvents* events = std::exchange(slot(number).events, nullptr);
    end(number, true, out);
    return events;
  }
  return nullptr;
}

StreamEvents* ReplyQueue::abandon_next() {
  for (std::uint64_t number = first_; number != next_ && streams_ > 0; ++number) {
    Slot& left = slot(number);
    if (left.state != State::streaming) continue;
    left.state = State::ready;
    --streams_;
    return std::exchange(left.events, nullptr);
  }
  first_ = next_;
  return nullptr;
}

void ReplyQueue::request_on_writable(std::uint64_t number) {
  if (stream_open(number)) slot(number).waits = true;
}

StreamEvents* ReplyQueue::take_waiting_stream() {
  return streaming() && std::exchange(slot(first_).waits, false) ? slot(first_).events : nullptr;
}

bool ReplyQueue::watch(std::uint64_t number, PeerWatcher& watcher) {
  Slot* watched = take_open(number, false);
  if (watched != nullptr) watched->watcher = &watcher;
  return watched != nullptr;
}

PeerWatcher* ReplyQueue::take_watcher() {
  for (std::uint64_t number = first_; number != next_; ++number) {
    Slot& open = slot(number);
    if (open.state == State::open && open.watcher != nullptr) return std::exchange(open.watcher, nullptr);
  }
  return nullptr;
}

bool ReplyQueue::watched() const {
  for (std::uint64_t number = first_; number != next_; ++number) {
    const Slot& open = ring_[number & (ring_.size() - 1)];
    if (open.state == State::open && open.watcher != nullptr) return true;
  }
  return false;
}

void ReplyQueue::announce_continue(Output& out) {
  if (closed_) return;
  if (unsent() == 0) {
    out.text() += kContinue;
    return;
  }
  Slot& interim = slot(open({}));
  interim.state = State::ready;
  interim.text = kContinue;
}

void ReplyQueue::output_ready(Output& out) {
  while (!closed_ && first_ != next_ && slot(first_).state != State::open) {
    Slot& done = slot(first_);
    out.text() += done.text;
    done.text.clear();
    if (done.body) out.append(std::exchange(done.body, nullptr));
    if (done.state == State::streaming) return;
    closed_ = done.shape.close;
    ++first_;
  }
}

std::size_t ReplyQueue::waiting_bytes() const {
  std::size_t bytes = 0;
  for (std::uint64_t number = first_ + 1; number < next_; ++number) {
    const Slot& waits = ring_[number & (ring_.size() - 1)];
    bytes += waits.text.size() + (waits.body ? waits.body->size() : 0);
  }
  return bytes;
}

void ReplyQueue::release_memory() {
  if (held() == 0) std::vector<Slot>().swap(ring_);
}

}  // namespace sluice::http
