#include "common/http/output.hpp"

#include <algorithm>
#include <utility>

namespace sluice::http {
namespace {

constexpr std::size_t kKeptText = 64UL * 1024;  // bytes of memory that are kept for reuse after a write

void empty_out(std::string& text) {
  if (text.capacity() > kKeptText) {
    std::string().swap(text);
  } else {
    text.clear();
  }
}

}  // namespace

void Output::append(const SharedBody& body) {
  if (body->size() <= kCopied) {
    appended_ += *body;
    return;
  }
  queued_bytes_ += appended_.size() + body->size();
  if (!appended_.empty()) queue_.push_back({std::exchange(appended_, {}), nullptr});
  queue_.push_back({{}, body});
}

std::string_view Output::next() {
  if (sending_.size() == 0) {
    if (queue_.empty()) {
      sending_.text.swap(appended_);
    } else {
      sending_ = std::move(queue_.front());
      queue_.erase(queue_.begin());
      queued_bytes_ -= sending_.size();
    }
  }
  return sending_.view().substr(sent_, sending_.body ? kSlice : std::string_view::npos);
}

void Output::consume(std::size_t bytes) {
  sent_ += bytes;
  if (sent_ < sending_.size()) return;
  sent_ = 0;
  sending_.body.reset();
  empty_out(sending_.text);
  if (appended_.empty()) appended_.swap(sending_.text);  // reuse the memory of the text that was sent
}

std::size_t Output::capacity() const {
  std::size_t total = appended_.capacity() + sending_.text.capacity() + queue_.capacity() * sizeof(Piece);
  for (const Piece& piece : queue_) total += piece.text.capacity();
  return total;
}

void Output::release_memory() { *this = Output(); }

}  // namespace sluice::http
