// The policies of a bundle file, for as long as the agent runs: read at the start, and again when the file changes or
// on SIGHUP. A thread of its own reads, validates, compiles and frees, so that decisions go on meanwhile.
//
// A file that is refused changes nothing: the former policies stay, and the log, the metrics and refusal() say so.
// Thread: the constructor, load_first(), start() and stop() are the owner's; refusal() any; the rest its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "agent/policies/bundle_file.hpp"
#include "agent/policies/file_watch.hpp"
#include "agent/policies/override_publisher.hpp"
#include "agent/policies/reload_schedule.hpp"
#include "agent/policies/snapshot_swap.hpp"
#include "common/base/clock.hpp"
#include "common/telemetry/metrics.hpp"

namespace sluice::agent::policies {

class BundleSource {
 public:
  using Publish = SnapshotSwap::Publish;

  // `parties`: how many decide.
  BundleSource(std::string path, const Clock& clock, telemetry::Metrics& metrics, telemetry::Log& log, Publish publish,
               std::size_t parties);
  ~BundleSource() { stop(); }

  // Reads and publishes, on the caller's thread. False where the file is refused: everything wrong was logged.
  bool load_first();

  // From here on changes of the file are followed, also those since it was read.
  void start();
  void stop();  // and joins

  // What is degraded while the file is refused; nothing while it is in force.
  std::optional<std::string> refusal() const;

 private:
  using Time = std::chrono::steady_clock::time_point;

  void on_event(FileWatch::Event event);
  void on_hangup();
  void plan_next_look();
  void look();
  void load();
  void apply(const FileText& file);
  void publish(BundleContent content, Time began);
  void refuse(const Faults& faults);
  void accept(telemetry::BundleLoad result);

  const std::string path_;
  const Clock& clock_;
  telemetry::Metrics& metrics_;
  telemetry::Log& log_;

  boost::asio::io_context context_{1};
  FileWatch watch_;
  boost::asio::signal_set hangups_;
  boost::asio::steady_timer look_timer_;
  SnapshotSwap swap_;
  std::optional<ReloadSchedule> schedule_;  // none: the file is read once and never again

  RemovedOverrides removed_;
  std::optional<std::int64_t> refused_since_us_;

  mutable std::mutex mutex_;  // guards refusal_
  std::optional<std::string> refusal_;
  std::jthread thread_;
};

// "the bundle FILE is refused since … (2 faults; the first: …): the policies of revision 3 decide"
std::string describe_refusal(const std::string& path, const Faults& faults, std::int64_t since_us,
                             std::uint64_t revision);

}  // namespace sluice::agent::policies
