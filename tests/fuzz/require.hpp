// What a fuzz target holds its subject to: where it does not hold, the target says so and ends, which is a finding.
#pragma once

#include <cstdio>
#include <cstdlib>

#define REQUIRE_THAT(condition)                                                    \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)
