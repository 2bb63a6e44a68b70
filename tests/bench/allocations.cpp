#include "tests/bench/allocations.hpp"

#include <cstdint>

// glibc's own functions behind the names that this file takes over.
extern "C" {
void* __libc_malloc(std::size_t size);                           // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(std::size_t count, std::size_t size);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* old, std::size_t size);               // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(std::size_t alignment, std::size_t size);  // NOLINT(bugprone-reserved-identifier)
}

namespace {
constinit std::size_t counted = 0;
}

namespace sluice::bench {
std::size_t allocations() { return counted; }
}  // namespace sluice::bench

extern "C" {
void* malloc(std::size_t size) {
  ++counted;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++counted;
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  ++counted;
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++counted;
  return __libc_memalign(alignment, size);
}
}
