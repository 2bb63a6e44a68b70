#include "tests/unit/agent/memory/failing_memory.hpp"

#include <cstdlib>
#include <new>

namespace {

using sluice::test::ThreadMemory;

// Without a constructor that runs: operator new is called before any other code of a thread.
thread_local constinit ThreadMemory own_memory;

void* allocate_or_null(std::size_t size, std::size_t alignment) noexcept {
  if (own_memory.refuses_next()) return nullptr;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(size > 0 ? size : 1);
  void* memory = nullptr;
  return ::posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

void* allocate(std::size_t size, std::size_t alignment) {
  void* const memory = allocate_or_null(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Boost.Asio's way to memory for handlers.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return allocate_or_null(size, alignment);
}

void* operator new(std::size_t size) { return allocate(size, 1); }
void* operator new[](std::size_t size) { return allocate(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate_or_null(size, 1); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate_or_null(size, 1); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace sluice::test {

ThreadMemory& ThreadMemory::here() { return own_memory; }

FailingMemory::FailingMemory(std::size_t n, std::size_t more, ThreadMemory& thread) : thread_(thread) {
  thread_.allocations_ = 0;
  thread_.first_to_fail_ = n;
  thread_.last_to_fail_ = n + more;
  thread_.active_ = true;
}

FailingMemory::~FailingMemory() { thread_.active_ = false; }

bool FailingMemory::failed() const { return thread_.allocations_ > thread_.first_to_fail_; }

}  // namespace sluice::test
