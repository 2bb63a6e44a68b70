// Counts the refusals of the agent's API (4xx) by cause, and tells the log about them: at most one line for each cause
// in RefusalLog::kEvery. A denied check (429) is a decision and no refusal. A line has nothing from a request, so no
// key or token comes into the log.
//
// Counting is thread-safe. A RefusalLog belongs to one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/http/problem.hpp"
#include "common/telemetry/counters.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::agent::api {

struct RefusalCause {
  std::string code;  // of the problem
  std::string why;
};
// The index of a cause is that of its counter.
std::span<const RefusalCause> refusal_causes();

// `counters`: one for each cause. Does nothing if the problem is not 4xx.
void count_refusal(telemetry::CounterVector& counters, const http::Problem& problem);

class RefusalLog {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kEvery{10};

  RefusalLog(const telemetry::CounterVector& counters, telemetry::Log& log);

  // Logs the causes that are due. Call it every second or more often.
  void tick(Time now);

 private:
  struct Told {
    std::uint64_t count = 0;
    std::optional<Time> at;
  };
  const telemetry::CounterVector& counters_;
  telemetry::Log& log_;
  std::vector<Told> told_;  // by cause
};

}  // namespace sluice::agent::api
