// Bump allocator for the objects of one reply. The first block is reused, so ordinary replies allocate nothing.
// Not thread-safe. Destructors are not run.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sluice::redis {

class Arena {
 public:
  // `limit`: bytes that may be in use at once.
  explicit Arena(std::size_t limit) : limit_(limit), block_(std::make_unique<std::byte[]>(kBlock)) {}

  // Frees all objects.
  void rewind() {
    used_ = 0;
    spent_ = 0;
    extra_.clear();
  }

  // Returns nullptr when the limit is reached.
  template <class T>
  T* make(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= kAlign);
    if (count > limit_ / sizeof(T)) return nullptr;
    void* memory = allocate(count * sizeof(T));
    if (memory == nullptr) return nullptr;
    T* objects = static_cast<T*>(memory);
    for (std::size_t i = 0; i < count; ++i) new (objects + i) T();
    return objects;
  }

  // The copy's data() is nullptr only when the limit is reached, not for an empty text.
  std::string_view copy(std::string_view text) {
    auto* memory = static_cast<char*>(allocate(text.size()));
    if (memory == nullptr) return {};
    if (!text.empty()) std::memcpy(memory, text.data(), text.size());
    return {memory, text.size()};
  }

 private:
  static constexpr std::size_t kBlock = 8192;
  static constexpr std::size_t kAlign = alignof(std::max_align_t);

  void* allocate(std::size_t bytes) {
    if (bytes > limit_) return nullptr;
    bytes = (bytes + kAlign - 1) / kAlign * kAlign;
    if (bytes > limit_ - spent_) return nullptr;
    spent_ += bytes;
    if (bytes <= kBlock - used_) {
      void* memory = block_.get() + used_;
      used_ += bytes;
      return memory;
    }
    // Rare: a long INFO text, or a broken server.
    return extra_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(bytes)).get();
  }

  std::size_t limit_;
  std::unique_ptr<std::byte[]> block_;
  std::size_t used_ = 0;   // bytes of block_
  std::size_t spent_ = 0;  // bytes of all blocks, at most limit_
  std::vector<std::unique_ptr<std::byte[]>> extra_;
};

}  // namespace sluice::redis
