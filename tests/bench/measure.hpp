// Times functions side by side: in rounds, each function once a round, so that whatever disturbs the machine for a
// while disturbs all of them. Counts this thread's CPU time: waiting for a core is not theirs.
#pragma once

#include <ctime>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/bench/allocations.hpp"

namespace sluice::bench {

// Keeps the compiler from dropping what computes `value`.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

inline std::int64_t thread_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

struct Timed {
  std::string name;
  std::string keys;                      // "one" or "many"
  std::function<void(std::size_t)> run;  // does it this often
  std::size_t times = 0;                 // in a round
  std::vector<double> ns{};              // per operation, by round
  double allocations = 0;                // per operation, in the round that had most
};

// One round that does not count (it warms caches, pools and tables), then `rounds` that do.
inline void measure(std::vector<Timed>& all, std::size_t rounds) {
  for (Timed& timed : all) timed.run(timed.times);
  for (std::size_t round = 0; round < rounds; ++round) {
    for (Timed& timed : all) {
      const std::size_t allocated = allocations();
      const std::int64_t begin = thread_cpu_ns();
      timed.run(timed.times);
      const std::int64_t took = thread_cpu_ns() - begin;
      const auto times = static_cast<double>(timed.times);
      timed.allocations = std::max(timed.allocations, static_cast<double>(allocations() - allocated) / times);
      timed.ns.push_back(static_cast<double>(took) / times);
    }
  }
}

}  // namespace sluice::bench
