#include "common/http/reply_queue.hpp"

#include <utility>

namespace sluice::http {
namespace {

constexpr std::size_t kFirstSize = 4;  // most connections have one request under way
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

std::uint64_t ReplyQueue::open(ReplyShape shape) {
  if (unanswered() == ring_.size()) grow();
  Slot& opened = slot(next_);
  opened.shape = shape;
  opened.ready = false;
  opened.text.clear();
  return next_++;
}

void ReplyQueue::grow() {
  std::vector<Slot> larger(ring_.empty() ? kFirstSize : ring_.size() * 2);
  for (std::uint64_t number = first_; number != next_; ++number) {
    larger[number & (larger.size() - 1)] = std::move(slot(number));
  }
  ring_ = std::move(larger);
}

void ReplyQueue::answer(std::uint64_t number, const Response& response, std::string_view date, bool last_closes,
                        std::string& out) {
  if (closed_ || number < first_ || number >= next_) return;
  Slot& answered = slot(number);
  if (answered.ready) return;
  if (last_closes && number + 1 == next_) answered.shape.close = true;
  answered.ready = true;
  const bool turn = number == first_;
  write_response(response, answered.shape, date, turn ? out : answered.text);
  if (turn) pop_ready(out);
}

void ReplyQueue::announce_continue(std::string& out) {
  if (closed_) return;
  if (unanswered() == 0) {
    out += kContinue;
    return;
  }
  Slot& interim = slot(open({}));
  interim.ready = true;
  interim.text = kContinue;
}

void ReplyQueue::pop_ready(std::string& out) {
  while (!closed_ && first_ != next_ && slot(first_).ready) {
    Slot& done = slot(first_);
    out += done.text;
    closed_ = done.shape.close;
    ++first_;
  }
  if (closed_) first_ = next_;
}

void ReplyQueue::release_memory() {
  if (unanswered() == 0) std::vector<Slot>().swap(ring_);
}

}  // namespace sluice::http
