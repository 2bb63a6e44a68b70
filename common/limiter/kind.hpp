// The kinds of limits: one for each algorithm, and for each variant with arithmetic of its own.
#pragma once

#include <cstdint>

namespace sluice::limiter {

// Agents send these numbers to the scripts in Redis: never renumber. The build reads them from here
// (cmake/AssembleScript.cmake): keep one enumerator per line.
enum class Kind : std::uint8_t {
  token_bucket = 1,
  leaky_bucket = 2,
  bucket_with_debt = 3,  // token_bucket or leaky_bucket under action `delay`
  fixed_window = 4,
  first_window = 5,  // fixed_window with align `first`
  sliding_window = 6,
  quota = 7,
  log = 8,    // sliding_window_log
  lease = 9,  // concurrency
};

}  // namespace sluice::limiter
