// Drives the wall clock of a server under test (driven_clock.c), and is that clock on the test's side.
//
// Invariant: the server reads what now_us() says, from the moment set() returns.
// Not thread-safe against itself; the server may read at any time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/clock.hpp"
#include "common/redis/command_writer.hpp"

namespace sluice::test {

class DrivenClock final : public Clock {
 public:
  // A time that write_set() can name: 2001 to 2103.
  static constexpr std::int64_t kFirst = 1'000'000'000'000'000;
  static constexpr std::int64_t kLast = 4'200'000'000'000'000;

  // Creates the file. Throws std::runtime_error.
  DrivenClock(const std::filesystem::path& file, std::int64_t now_us);
  ~DrivenClock() override;
  DrivenClock(const DrivenClock&) = delete;
  DrivenClock& operator=(const DrivenClock&) = delete;

  std::int64_t now_us() const override;
  void set(std::int64_t now_us);
  void advance(std::int64_t us) { set(now_us() + us); }

  // What the server has to be started with: NAME=value.
  std::vector<std::string> environment() const;

  // One Redis command that moves the clock when the server comes to it, between two others of a pipeline; its reply is
  // +OK. Needs `enable-debug-command local`. REQUIRES: kFirst ≤ now_us ≤ kLast.
  static void write_set(redis::CommandWriter& out, std::int64_t now_us);

 private:
  std::string path_;
  std::int64_t* mapped_ = nullptr;
};

}  // namespace sluice::test
