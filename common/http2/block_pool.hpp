// Memory for nghttp2, which takes about twenty small blocks for a request: the blocks that are free are used again.
//
// Of each size (in steps of 16 bytes) the pool has a list of free blocks. It keeps at most kKept bytes in them; larger
// blocks, and those beyond, are the heap's. The pool outlives the sessions that use it.
// Thread safety: none; it belongs to its server's thread.
#pragma once

#include <array>
#include <cstddef>

#include <nghttp2/nghttp2.h>

namespace sluice::http2 {

class BlockPool {
 public:
  static constexpr std::size_t kKept = 4UL << 20;

  BlockPool();
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;

  nghttp2_mem* hooks() { return &hooks_; }

  void* allocate(std::size_t size) noexcept;  // nullptr: there is no memory
  void* resize(void* block, std::size_t size) noexcept;
  void release(void* block) noexcept;

  std::size_t kept_bytes() const { return kept_; }

 private:
  static constexpr std::size_t kStep = 16;
  static constexpr std::size_t kClasses = 65;  // the largest: 1 KiB

  // Stands before each block.
  struct alignas(kStep) Head {
    std::size_t steps;  // the block's size
    Head* next;         // while the block is free
  };

  std::array<Head*, kClasses> free_{};  // by steps
  std::size_t kept_ = 0;
  nghttp2_mem hooks_;
};

}  // namespace sluice::http2
