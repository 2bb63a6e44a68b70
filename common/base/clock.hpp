// The wall clock as an interface, so that tests can pass a clock that they control.
//
// Thread safety: any thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace sluice {

using Micros = std::chrono::microseconds;
using WallTime = std::chrono::sys_time<Micros>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now_us() const = 0;  // since the Unix epoch
};

class SystemClock final : public Clock {
 public:
  std::int64_t now_us() const override {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace sluice
