#include "tests/unit/agent/memory/failing_memory.hpp"

#include <cstdlib>
#include <new>

namespace {

bool active = false;
std::size_t allocations = 0;
std::size_t first_to_fail = 0;
std::size_t last_to_fail = 0;

void* allocate(std::size_t size, std::size_t alignment) {
  if (active) {
    const std::size_t number = allocations++;
    if (number >= first_to_fail && number <= last_to_fail) throw std::bad_alloc();
  }
  void* const memory = alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
                           ? std::malloc(size > 0 ? size : 1)
                           : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, 1); }
void* operator new[](std::size_t size) { return allocate(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
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
