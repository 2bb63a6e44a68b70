#include "tests/integration/support/driven_clock/driven_clock.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace sluice::test {

DrivenClock::DrivenClock(const std::filesystem::path& file, std::int64_t now_us) : path_(file.string()) {
  const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  void* map = MAP_FAILED;
  if (fd >= 0 && ::ftruncate(fd, sizeof *mapped_) == 0) {
    map = ::mmap(nullptr, sizeof *mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (map == MAP_FAILED) throw std::runtime_error("no driven clock at " + path_ + ": " + std::strerror(error));
  mapped_ = static_cast<std::int64_t*>(map);
  set(now_us);
}

DrivenClock::~DrivenClock() { ::munmap(mapped_, sizeof *mapped_); }

std::int64_t DrivenClock::now_us() const { return std::atomic_ref(*mapped_).load(); }

void DrivenClock::set(std::int64_t now_us) { std::atomic_ref(*mapped_).store(now_us); }

std::vector<std::string> DrivenClock::environment() const {
  return {"LD_PRELOAD=" DRIVEN_CLOCK_LIBRARY, "SLUICE_DRIVEN_CLOCK=" + path_};
}

// DEBUG SLEEP reads a double of seconds and takes the whole microseconds of it. Below 2^32 s doubles are less than half
// a microsecond apart, so there is always one that gives the time wanted.
void DrivenClock::write_set(redis::CommandWriter& out, std::int64_t now_us) {
  double seconds = (static_cast<double>(now_us) + 0.5) / 1e6;
  while (static_cast<std::int64_t>(seconds * 1e6) > now_us) seconds = std::nextafter(seconds, 0.0);
  while (static_cast<std::int64_t>(seconds * 1e6) < now_us) seconds = std::nextafter(seconds, 1e10);
  char text[40];
  const int size = std::snprintf(text, sizeof text, "%.17g", seconds);
  out.array(3).bulk("DEBUG").bulk("SLEEP").bulk(std::string_view(text, static_cast<std::size_t>(size)));
}

}  // namespace sluice::test
