#include "common/program/descriptors.hpp"

#include <algorithm>

#include <sys/resource.h>

namespace sluice::program {

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  // "Unlimited" may be above what the kernel takes: then the limit stays.
  if (limit.rlim_cur != before && setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  return limit.rlim_cur;
}

std::size_t connections_per_worker(std::size_t descriptors, std::size_t workers, std::size_t most) {
  constexpr std::size_t kForProcess = 32;  // probes, logs, files read while it runs
  constexpr std::size_t kForWorker = 8;    // its loop, its listeners, its connection to Redis and the next one
  std::size_t kept = std::min(kForProcess + kForWorker * workers, descriptors / 2);
  return std::clamp((descriptors - kept) / workers, std::size_t{1}, most);
}

}  // namespace sluice::program
