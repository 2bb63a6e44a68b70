// Ended spans that wait for the exporter. The queue is bounded, so a collector that is slow or away costs no memory.
//
// Thread safety: any thread, except for wake_at(). The lock is held only while pointers are moved, so put() does not
// wait for the exporter.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "common/tracing/span.hpp"

namespace sluice::tracing {

class SpanQueue {
 public:
  explicit SpanQueue(std::size_t capacity) : capacity_(capacity) { spans_.reserve(capacity); }

  // Calls `wake` whenever the queue has grown to `size` spans, on the thread of put(). It must not throw.
  // REQUIRES: called before the first put().
  void wake_at(std::size_t size, std::function<void()> wake) {
    wake_size_ = size;
    wake_ = std::move(wake);
  }

  // Drops and counts the span if the queue is full: the oldest spans belong to traces that are already in part with the
  // collector.
  void put(std::unique_ptr<Span> span) noexcept {
    std::unique_lock lock(mutex_);
    if (spans_.size() == capacity_) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    spans_.push_back(std::move(span));
    const bool wakes = spans_.size() == wake_size_;
    lock.unlock();
    if (wakes) wake_();
  }

  // Removes the oldest spans, at most `most`.
  std::vector<std::unique_ptr<Span>> take(std::size_t most) {
    std::vector<std::unique_ptr<Span>> taken;
    taken.reserve(std::min(most, capacity_));
    const std::lock_guard lock(mutex_);
    const auto end = spans_.begin() + static_cast<std::ptrdiff_t>(std::min(most, spans_.size()));
    taken.insert(taken.end(), std::make_move_iterator(spans_.begin()), std::make_move_iterator(end));
    spans_.erase(spans_.begin(), end);
    return taken;
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return spans_.size();
  }
  std::size_t capacity() const { return capacity_; }
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  const std::size_t capacity_;
  std::size_t wake_size_ = 0;  // 0: nobody is woken
  std::function<void()> wake_;
  std::atomic<std::uint64_t> dropped_{0};
  mutable std::mutex mutex_;  // guards the member below
  std::vector<std::unique_ptr<Span>> spans_;
};

}  // namespace sluice::tracing
