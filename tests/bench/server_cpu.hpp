// The CPU time that another process has used so far.
#pragma once

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace sluice::bench {

// User and system time of the process' main thread, which does all of Redis' work here, in µs. The scheduler's count is
// in nanoseconds; where a kernel keeps none, that of /proc/PID/stat is in ticks of 10 ms, which needs longer slices.
inline double server_cpu_us(int pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  double ns = 0;
  if (std::ifstream(folder + "/schedstat") >> ns && ns > 0) return ns / 1000;
  std::string text;
  if (!std::getline(std::ifstream(folder + "/stat"), text))
    throw std::runtime_error("no process " + std::to_string(pid));
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  for (int field = 3; field < 14; ++field) fields >> text;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) * 1e6 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace sluice::bench
