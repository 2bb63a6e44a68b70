// A ring buffer: a queue that allocates only when it becomes longer than ever before. push_back() invalidates
// references.
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace sluice::redis {

template <class T>
class Ring {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  T& operator[](std::size_t index) {
    assert(index < size_);
    return slots_[(first_ + index) & (capacity_ - 1)];
  }
  const T& operator[](std::size_t index) const {
    assert(index < size_);
    return slots_[(first_ + index) & (capacity_ - 1)];
  }

  void push_back(const T& value) {
    const T copy = value;  // `value` may be an element of this ring, which grow() moves
    if (size_ == capacity_) grow();
    slots_[(first_ + size_) & (capacity_ - 1)] = copy;
    ++size_;
  }

  T pop_front() {
    assert(size_ > 0);
    T value = slots_[first_];
    drop_front(1);
    return value;
  }

  void drop_front(std::size_t count) {
    assert(count <= size_);
    if (count == 0) return;
    first_ = (first_ + count) & (capacity_ - 1);
    size_ -= count;
  }

  // Keeps the first `count` elements.
  void truncate(std::size_t count) {
    assert(count <= size_);
    size_ = count;
  }

 private:
  void grow() {
    static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>);
    const std::size_t capacity = capacity_ == 0 ? 64 : capacity_ * 2;  // a power of two, for the index mask
    auto slots = std::make_unique<T[]>(capacity);
    for (std::size_t i = 0; i < size_; ++i) slots[i] = (*this)[i];
    slots_ = std::move(slots);
    capacity_ = capacity;
    first_ = 0;
  }

  std::unique_ptr<T[]> slots_;
  std::size_t capacity_ = 0;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace sluice::redis
