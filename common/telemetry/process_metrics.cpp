#include "common/telemetry/process_metrics.hpp"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

namespace sluice::telemetry {
namespace {

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

std::optional<double> clock_seconds(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return std::nullopt;
  return seconds(time);
}

// Field 22 of /proc/self/stat has the start time in clock ticks after boot. Field 2, the name of the program in
// parentheses, may contain spaces, so counting begins at its closing ')'.
std::optional<double> read_start_time() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::size_t at = name_end;
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  const std::optional<double> now = clock_seconds(CLOCK_REALTIME);
  const std::optional<double> since_boot = clock_seconds(CLOCK_BOOTTIME);
  if (at == std::string::npos || !now || !since_boot) return std::nullopt;
  const auto ticks = static_cast<double>(std::strtoull(text.c_str() + at + 1, nullptr, 10));
  return *now - *since_boot + ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

enum class Pages : std::uint8_t { total, resident };

std::optional<double> pages_in_bytes(Pages wanted) {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  if (!(file >> total >> resident)) return std::nullopt;
  return (wanted == Pages::total ? total : resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Without std::filesystem, whose iterator ends the program if an allocation fails.
std::optional<double> open_descriptors() {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return std::nullopt;
  double count = -3;  // leaves out ".", ".." and the descriptor of the directory itself
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

std::optional<double> descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

ProcessMetrics::ProcessMetrics() : start_time_(read_start_time()) {}

const MetricTable<ProcessMetrics>& process_metrics() {
  using Process = ProcessMetrics;
  static const MetricTable<Process> table{
      {"process_cpu_seconds_total", kCounter, "User and system CPU time that the process used, in seconds.",
       [](const Process&) { return clock_seconds(CLOCK_PROCESS_CPUTIME_ID); }},
      {"process_resident_memory_bytes", kGauge, "Resident memory in bytes.",
       [](const Process&) { return pages_in_bytes(Pages::resident); }},
      {"process_virtual_memory_bytes", kGauge, "Virtual memory in bytes.",
       [](const Process&) { return pages_in_bytes(Pages::total); }},
      {"process_open_fds", kGauge, "Open file descriptors.", [](const Process&) { return open_descriptors(); }},
      {"process_max_fds", kGauge, "Limit of open file descriptors. Absent if there is no limit.",
       [](const Process&) { return descriptor_limit(); }},
      {"process_start_time_seconds", kGauge, "Start of the process, in Unix time.", &Process::start_time},
  };
  return table;
}

}  // namespace sluice::telemetry
