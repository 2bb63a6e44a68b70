// Counts what this program asks of the heap: every malloc, and so every operator new and every library's own.
//
// Thread safety: none; for programs of one thread.
#pragma once

#include <cstddef>

namespace sluice::bench {

std::size_t allocations();  // since the start

}  // namespace sluice::bench
