// The bytes of one connection that are not parsed yet: small while idle, as large as a request needs, then small again.
//
// Thread safety: none. Invariant: data() stays where it is until the next prepare() or release_memory(); consume()
// moves nothing, so views into consumed bytes live until then.
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
  static constexpr std::size_t kBusySize = 32UL * 1024;  // what full reads of pipelined requests may grow it to
  static constexpr std::size_t kKeptSize = 64UL * 1024;  // above, memory goes back as soon as nothing needs it

  char* data() { return memory_.get() + begin_; }
  std::size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }
  std::size_t capacity() const { return capacity_; }

  // Free space behind the bytes, at least one byte. `wanted`: what the unfinished request needs in all, 0 if not known;
  // memory grows towards it only as bytes come, since announcing a body is cheap and sending it is not.
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

  void release_memory() {  // REQUIRES: nobody reads into it
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
  bool filled_ = false;  // the last read took all the space: more is probably waiting
};

}  // namespace sluice::http
