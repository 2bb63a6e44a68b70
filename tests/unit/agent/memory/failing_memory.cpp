#include "tests/unit/agent/memory/failing_memory.hpp"

#include <cstdlib>
#include <new>

namespace {

bool active = false;
std::size_t allocations = 0;
std::size_t first_to_fail = 0;
std::size_t last_to_fail = 0;

void* allocate_or_null(std::size_t size, std::size_t alignment) noexcept {
  if (active) {
    const std::size_t number = allocations++;
    if (number >= first_to_fail && number <= last_to_fail) return nullptr;
  }
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

FailingMemory::FailingMemory(std::size_t n, std::size_t more) {
  allocations = 0;
  first_to_fail = n;
  last_to_fail = n + more;
  active = true;
}

FailingMemory::~FailingMemory() { active = false; }

bool FailingMemory::failed() const { return allocations > first_to_fail; }

}  // namespace sluice::test
