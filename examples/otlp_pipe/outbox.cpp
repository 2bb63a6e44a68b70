#include "outbox.hpp"

#include <utility>

namespace otlp_pipe {

bool Outbox::admit(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  if (closed_ || (bytes_ > 0 && bytes_ + bytes > limit_bytes_)) return false;
  bytes_ += bytes;
  return true;
}

void Outbox::leave(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  bytes_ -= bytes;
}

void Outbox::put(Letter letter, std::size_t admitted) {
  {
    std::lock_guard lock(mutex_);
    bytes_ += letter.message.size();
    bytes_ -= admitted;
    letters_.push_back(std::move(letter));
  }
  changed_.notify_one();
}

std::optional<Letter> Outbox::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || !letters_.empty(); });
  if (letters_.empty()) return std::nullopt;
  Letter letter = std::move(letters_.front());
  letters_.pop_front();
  return letter;
}

void Outbox::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

bool Outbox::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

bool Outbox::sleep(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, time, [this] { return closed_; });
}

}  // namespace otlp_pipe
