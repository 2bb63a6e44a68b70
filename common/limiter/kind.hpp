// How a limit is judged: an algorithm, or a variant of one that has arithmetic of its own.
#pragma once

#include <cstdint>

namespace sluice::limiter {

// The numbers go over the wire to the scripts: never renumber. The build reads them from here when it assembles the
// scripts (cmake/AssembleScript.cmake): one enumerator a line.
enum class Kind : std::uint8_t {
  token_bucket = 1,
  leaky_bucket = 2,
  bucket_with_debt = 3,  // either bucket under action `delay`
  fixed_window = 4,
  first_window = 5,  // fixed_window, align first
  sliding_window = 6,
  quota = 7,
  log = 8,    // sliding_window_log
  lease = 9,  // concurrency
};

}  // namespace sluice::limiter
