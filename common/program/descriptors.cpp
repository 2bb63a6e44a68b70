#include "common/program/descriptors.hpp"

#include <algorithm>

#include <sys/resource.h>

namespace sluice::program {

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  // The kernel may refuse a hard limit of "unlimited".
  if (limit.rlim_cur != before && setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  return limit.rlim_cur;
}

std::size_t connections_per_worker(std::size_t descriptors, std::size_t workers, std::size_t max_connections) {
  constexpr std::size_t kForProcess = 32;  // probes, logs, files that are read while the program runs
  constexpr std::size_t kForWorker = 8;    // its loop, listeners, connection to Redis (two while one is replaced)
  std::size_t kept = std::min(kForProcess + kForWorker * workers, descriptors / 2);
  return std::clamp((descriptors - kept) / workers, std::size_t{1}, max_connections);
}

}  // namespace sluice::program
