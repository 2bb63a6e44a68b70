// The unparsed bytes of one connection. Views into consumed bytes stay valid until the next prepare() or
// release_memory().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

namespace sluice::http {

class ReadBuffer {
 public:
  static constexpr std::size_t kIdleSize = 4096;
  static constexpr std::size_t kBusySize = 32UL * 1024;  // while reads fill the buffer, it grows up to this size
  static constexpr std::size_t kKeptSize = 64UL * 1024;  // a larger buffer shrinks when kIdleSize is enough

  char* data() { return memory_.get() + begin_; }
  std::size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }
  std::size_t capacity() const { return capacity_; }

  // Returns free space, at least one byte. `wanted` is the number of bytes that the unfinished request needs in all, 0
  // if not known. The buffer grows to `wanted` only as bytes arrive, because a client may never send a body that it
  // announced.
  std::span<char> prepare(std::size_t wanted) {
    std::size_t capacity = std::max(capacity_, kIdleSize);
    if (filled_ && capacity < kBusySize) capacity *= 2;
    if (capacity > kKeptSize && std::max(size(), wanted) <= kIdleSize) capacity = kIdleSize;
    if (size() >= capacity) capacity = std::max(std::min(2 * capacity, wanted), size() + kIdleSize);
    filled_ = false;
    if (capacity != capacity_) {
      move_to(capacity);
    } else if (begin_ > 0) {
      std::memmove(memory_.get(), data(), size());
      end_ = size();
      begin_ = 0;
    }
    return {memory_.get() + end_, capacity_ - end_};
  }

  void commit(std::size_t bytes) {
    end_ += bytes;
    filled_ = end_ == capacity_;
  }
  void consume(std::size_t bytes) { begin_ += bytes; }
  void clear() { begin_ = end_ = 0; }

  void release_memory() {  // REQUIRES: no read is under way
    memory_.reset();
    capacity_ = begin_ = end_ = 0;
    filled_ = false;
  }

 private:
  void move_to(std::size_t capacity) {
    auto memory = std::make_unique_for_overwrite<char[]>(capacity);
    const std::size_t kept = size();
    if (kept > 0) std::memcpy(memory.get(), data(), kept);
    memory_ = std::move(memory);
    capacity_ = capacity;
    begin_ = 0;
    end_ = kept;
  }

  std::unique_ptr<char[]> memory_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool filled_ = false;  // the last read used all space
};

}  // namespace sluice::http
