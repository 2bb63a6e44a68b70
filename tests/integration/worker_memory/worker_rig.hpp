// A worker of the agent on a thread of its own, with its listeners and with counters in a real Redis. Its allocations
// can fail; those of the test's thread do not.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "agent/api/check_api.hpp"
#include "agent/api/refusals.hpp"
#include "agent/grpc/metrics.hpp"
#include "agent/worker.hpp"
#include "common/base/clock.hpp"
#include "engine/core/core.hpp"
#include "tests/integration/support/redis_server.hpp"
#include "tests/unit/agent/memory/failing_memory.hpp"

namespace sluice::agent {

// What the tests call with, and the answers to it. A policy counts by subject.
inline constexpr std::int64_t kLimit = 1'000;

struct Policies {
  explicit Policies(std::int64_t limit = kLimit);

  std::string key;
  std::shared_ptr<const policy::Snapshot> snapshot;
};

// A file that takes all and keeps nothing.
class Nowhere {
 public:
  Nowhere() : fd_(::open("/dev/null", O_WRONLY | O_CLOEXEC)) {}
  ~Nowhere() { ::close(fd_); }
  Nowhere(const Nowhere&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

// Waits for a condition. Returns false if that takes longer than 10 s.
template <class Condition>
bool wait_until(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

class RunningWorker {
 public:
  // `redis`: a URL.
  RunningWorker(const std::string& redis, const Policies& policies);
  ~RunningWorker();  // as an agent that stops, but without a drain
  RunningWorker(const RunningWorker&) = delete;

  // Waits until Redis decides. Returns false if that takes longer than 10 s.
  bool await_redis();
  // Waits until the worker's timer has run again. Returns false if that takes longer than 10 s.
  bool await_tick();
  // When the worker's timer ran last.
  std::chrono::steady_clock::time_point last_turn() const { return worker_->last_turn(); }

  std::uint16_t http_port() const { return http_port_; }
  std::uint16_t grpc_port() const { return grpc_port_; }
  test::ThreadMemory& memory() { return *memory_; }
  std::int64_t in_flight() { return static_cast<std::int64_t>(core_.shared().in_flight.count()); }
  // `on_used`: called on the worker's thread once the worker decides by them.
  void publish(std::shared_ptr<const policy::Snapshot> snapshot, const std::function<void()>& on_used = {}) {
    core_.publish({std::move(snapshot), nullptr}, on_used);
  }

 private:
  const SystemClock clock_;
  Nowhere nowhere_;
  telemetry::LineWriter log_lines_{nowhere_.fd()};
  telemetry::Log log_{log_lines_, telemetry::LogLevel::debug};
  telemetry::DecisionLog decision_log_{clock_};
  telemetry::Metrics metrics_;
  engine::Core core_;
  rpc::Metrics grpc_metrics_{1, false};
  WorkerShared shared_;
  std::optional<Worker> worker_;
  std::uint16_t http_port_ = 0;
  std::uint16_t grpc_port_ = 0;
  test::ThreadMemory* memory_ = nullptr;
  std::thread thread_;
};

}  // namespace sluice::agent
