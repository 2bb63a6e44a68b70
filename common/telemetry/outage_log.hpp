// Logs the outage of something that the program depends on: one line when it begins, at most one a minute while it
// lasts, one when it has ended. However often the program tries again, the log stays short.
//
// Several parties (workers, threads) may use the same thing. The outage begins with the first failure of any of them.
// It has ended when each party that had failed has worked for kSettled. So a connection that comes and goes is one
// outage, not many.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "common/base/error.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::telemetry {

class OutageLog {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Now = std::function<Time()>;
  static constexpr std::chrono::minutes kRemindEvery{1};
  static constexpr std::chrono::seconds kSettled{5};

  // Names and messages of the lines. The texts outlive the log.
  struct Lines {
    std::string_view lasts_event;
    std::string_view lasts_message;
    std::string_view ended_event;
    std::string_view ended_message;
  };

  OutageLog(Log& log, Lines lines, Now now = std::chrono::steady_clock::now)
      : log_(log), lines_(lines), now_(std::move(now)) {}

  // `event`, `message` and `fields` are logged if this failure begins an outage. Otherwise the failure is only counted,
  // and the line that is due once a minute names the newest one.
  void failed(std::uint32_t party, std::string_view event, std::string_view message, const Error& why,
              std::initializer_list<LogField> fields = {});

  // Counts a failure that the outage has caused, such as a call that was refused. Returns false, and counts nothing, if
  // no party fails now.
  bool count();

  void works(std::uint32_t party);

  // Writes the lines that are due: that of the minute, and the last one. Call it every few seconds.
  void tick();

  // Until the last line is written.
  bool lasts() const { return lasts_.load(std::memory_order_relaxed); }

 private:
  // REQUIRES, for both: mutex_ is locked.
  void add_failure();
  void remind();

  Log& log_;
  const Lines lines_;
  const Now now_;
  std::atomic<bool> lasts_{false};

  std::mutex mutex_;  // guards the members below
  std::set<std::uint32_t> failing_;
  Time began_{};
  Time worked_{};  // since when every party works, if failing_ is empty
  Time logged_{};  // when the last line was written
  std::uint64_t failures_ = 0;
  std::uint64_t failures_since_ = 0;  // since the last line
  Error newest_;
};

}  // namespace sluice::telemetry
