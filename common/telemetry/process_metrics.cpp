#include "common/telemetry/process_metrics.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/telemetry/families.hpp"

namespace sluice::telemetry {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

std::optional<double> clock_seconds(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return std::nullopt;
  return seconds(time);
}

// Start of the process in Unix time. Field 22 of /proc/self/stat has it in clock ticks after boot. Field 2, the name of
// the program, may contain spaces, so counting starts at its closing ')'.
std::optional<double> start_time() {
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

struct Memory {
  double virtual_bytes = 0;
  double resident_bytes = 0;
};

std::optional<Memory> memory() {
  std::ifstream file("/proc/self/statm");
  double total_pages = 0;
  double resident_pages = 0;
  if (!(file >> total_pages >> resident_pages)) return std::nullopt;
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return Memory{total_pages * page, resident_pages * page};
}

std::optional<double> open_descriptors() {
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc/self/fd", error);
  double count = -1;  // reading the directory opens one descriptor, which is not counted
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) ++count;
  if (error) return std::nullopt;
  return count;
}

std::optional<double> descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<double>(limit.rlim_cur);
}

void add(std::vector<MetricFamily>& families, std::string name, std::string help, MetricType type,
         std::optional<double> value) {
  if (!value) return;
  MetricFamily made = family(std::move(name), std::move(help), type);
  add_sample(made, {}, *value);
  families.push_back(std::move(made));
}

}  // namespace

ProcessMetrics::ProcessMetrics() : start_time_(start_time()) {}

std::vector<MetricFamily> ProcessMetrics::Collect() const {
  std::vector<MetricFamily> families;
  add(families, "process_cpu_seconds_total", "User and system CPU time used, in seconds.", MetricType::Counter,
      clock_seconds(CLOCK_PROCESS_CPUTIME_ID));
  if (const std::optional<Memory> used = memory()) {
    add(families, "process_resident_memory_bytes", "Resident memory in bytes.", MetricType::Gauge,
        used->resident_bytes);
    add(families, "process_virtual_memory_bytes", "Virtual memory in bytes.", MetricType::Gauge, used->virtual_bytes);
  }
  add(families, "process_open_fds", "Open file descriptors.", MetricType::Gauge, open_descriptors());
  add(families, "process_max_fds", "Limit of open file descriptors.", MetricType::Gauge, descriptor_limit());
  add(families, "process_start_time_seconds", "Start of the process, in Unix time.", MetricType::Gauge, start_time_);
  return families;
}

}  // namespace sluice::telemetry
