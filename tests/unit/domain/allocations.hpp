// Counts allocations of this thread, where a sanitizer runs that can tell (scripts/test builds with one).
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLUICE_COUNTS_ALLOCATIONS 1
#endif
#endif

#ifdef SLUICE_COUNTS_ALLOCATIONS
#include <sanitizer/allocator_interface.h>

#include <cstddef>

namespace sluice {

class AllocationCount {
 public:
  AllocationCount() : begin_(counter()) {
    [[maybe_unused]] static const int installed = __sanitizer_install_malloc_and_free_hooks(
        [](const volatile void*, std::size_t) { ++counter(); }, [](const volatile void*) {});
    begin_ = counter();
  }
  std::size_t so_far() const { return counter() - begin_; }

 private:
  static std::size_t& counter() {
    thread_local std::size_t allocations = 0;
    return allocations;
  }
  std::size_t begin_;
};

}  // namespace sluice
#endif
