#include "common/http2/block_pool.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif
#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(block, size) (static_cast<void>(block), static_cast<void>(size))
#define ASAN_UNPOISON_MEMORY_REGION(block, size) (static_cast<void>(block), static_cast<void>(size))
#endif

namespace sluice::http2 {
namespace {

BlockPool& pool_of(void* user) { return *static_cast<BlockPool*>(user); }

void* take(std::size_t size, void* user) { return pool_of(user).allocate(size); }
void give_back(void* block, void* user) { pool_of(user).release(block); }
void* take_cleared(std::size_t count, std::size_t size, void* user) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
  void* block = pool_of(user).allocate(bytes);
  if (block != nullptr) std::memset(block, 0, bytes);
  return block;
}
void* take_other(void* block, std::size_t size, void* user) { return pool_of(user).resize(block, size); }

}  // namespace

BlockPool::BlockPool()
    : hooks_{.mem_user_data = this,
             .malloc = &take,
             .free = &give_back,
             .calloc = &take_cleared,
             .realloc = &take_other} {}

BlockPool::~BlockPool() {
  for (Head* head : free_) {
    while (head != nullptr) std::free(std::exchange(head, head->next));
  }
}

void* BlockPool::allocate(std::size_t size) noexcept {
  if (size > SIZE_MAX / 2) return nullptr;
  const std::size_t steps = std::max<std::size_t>((size + kStep - 1) / kStep, 1);
  if (steps < kClasses && free_[steps] != nullptr) {
    Head* head = std::exchange(free_[steps], free_[steps]->next);
    kept_ -= steps * kStep;
    ASAN_UNPOISON_MEMORY_REGION(head + 1, steps * kStep);
    return head + 1;
  }
  auto* head = static_cast<Head*>(std::malloc(sizeof(Head) + steps * kStep));
  if (head == nullptr) return nullptr;
  head->steps = steps;
  return head + 1;
}

void BlockPool::release(void* block) noexcept {
  if (block == nullptr) return;
  Head* head = static_cast<Head*>(block) - 1;
  const std::size_t steps = head->steps;
  if (steps >= kClasses || kept_ + steps * kStep > kKept) return std::free(head);
  head->next = std::exchange(free_[steps], head);
  kept_ += steps * kStep;
  ASAN_POISON_MEMORY_REGION(block, steps * kStep);
}

void* BlockPool::resize(void* block, std::size_t size) noexcept {
  if (block == nullptr) return allocate(size);
  const std::size_t room = (static_cast<Head*>(block) - 1)->steps * kStep;
  if (size <= room) return block;
  void* larger = allocate(size);
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, block, room);
  release(block);
  return larger;
}

}  // namespace sluice::http2
