// Owns the tracer of a program, and sends what it records to a collector on a thread of its own.
//
// Threads: tracer() and the statistics from any thread; start() and stop() from the owner's. REQUIRES: every ActiveSpan
// ends before this object.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/http_client/url.hpp"
#include "common/net/tls.hpp"
#include "common/otlp/trace_message.hpp"
#include "common/telemetry/log.hpp"
#include "common/tracing/tracer.hpp"

namespace sluice::otlp {

struct Options {
  http_client::Url collector = {};
  std::string target = "/v1/traces";                              // path of the collector's URL
  net::TlsFiles tls = {};                                         // read at each connect
  std::vector<std::pair<std::string, std::string>> headers = {};  // may be secret
  bool gzip = false;
  Resource resource = {};
  tracing::Sampler sampler = {};
  std::size_t queue_size = 2048;                      // spans that wait at most
  std::size_t batch_size = 512;                       // spans of a message; ≤ queue_size
  std::chrono::milliseconds schedule_delay{5'000};    // between two messages, unless a batch is full earlier
  std::chrono::milliseconds request_timeout{10'000};  // for one attempt
  std::chrono::milliseconds export_timeout{30'000};   // for all attempts with one batch
};

class Exporter {
 public:
  // How long stop() sends what waits.
  static constexpr std::chrono::milliseconds kPatience{1'000};

  Exporter(Options options, telemetry::Log& log);
  ~Exporter();  // calls stop(); a name lookup that goes on is left to itself
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  tracing::Tracer& tracer() { return tracer_; }

  void start();
  // Sends the spans that wait, for at most `patience`. What is then left, and what ends later, is lost.
  void stop(std::chrono::milliseconds patience = kPatience);

  struct Statistics {
    std::atomic<std::uint64_t> exported{0};       // spans that the collector has taken
    std::atomic<std::uint64_t> export_failed{0};  // spans that were dropped after the last attempt
    std::atomic<std::uint64_t> refused{0};        // spans that the collector did not want
    std::atomic<std::uint64_t> failed_attempts{0};
  };
  const Statistics& statistics() const { return statistics_; }
  std::size_t waiting() const { return tracer_.queue().size(); }
  std::uint64_t dropped_queue_full() const { return tracer_.queue().dropped(); }

 private:
  class Loop;

  telemetry::Log& log_;
  tracing::Tracer tracer_;
  Statistics statistics_;
  std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

}  // namespace sluice::otlp
