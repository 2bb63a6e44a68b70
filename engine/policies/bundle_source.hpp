// Follows a bundle file: reads it at the start, when it changes, and on SIGHUP. If a file is refused, the former
// policies stay in force.
//
// Thread: the constructor, load_first(), start() and stop() run on the owner's thread. refusal() may be called on any
// thread. Everything else runs on thread_.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "common/base/clock.hpp"
#include "common/telemetry/metrics.hpp"
#include "engine/policies/bundle_file.hpp"
#include "engine/policies/followed_file.hpp"
#include "engine/policies/override_publisher.hpp"
#include "engine/policies/snapshot_swap.hpp"

namespace sluice::policies {

class BundleSource {
 public:
  using Publish = SnapshotSwap::Publish;

  // No policy is stricter than `mode`, whatever the file says.
  BundleSource(std::string path, Mode mode, const Clock& clock, telemetry::Metrics& metrics, telemetry::Log& log,
               Publish publish, std::size_t workers);
  ~BundleSource() { stop(); }

  // Reads and publishes the file. If the file is refused, logs all faults and returns false.
  bool load_first();

  // Changes between load_first() and start() are noticed too.
  void start();
  void stop();  // joins the thread

  // A sentence for /readyz if the file is refused, else nullopt.
  std::optional<std::string> refusal() const;

 private:
  using Time = std::chrono::steady_clock::time_point;

  void wait_for_hangup();
  void apply(const FileText& file);
  void publish(BundleContent content, Time began);
  void refuse(const Faults& faults);
  void accept(telemetry::BundleLoad result);

  const std::string path_;
  const Mode mode_;
  const Clock& clock_;
  telemetry::Metrics& metrics_;
  telemetry::Log& log_;

  boost::asio::io_context context_{1};
  FollowedFile file_;
  boost::asio::signal_set hangups_;
  SnapshotSwap swap_;

  RemovedOverrides removed_;
  std::optional<std::int64_t> refused_since_us_;

  mutable std::mutex mutex_;  // guards refusal_
  std::optional<std::string> refusal_;
  std::jthread thread_;
};

std::string describe_refusal(const std::string& path, const Faults& faults, std::int64_t since_us,
                             std::uint64_t revision);

}  // namespace sluice::policies
