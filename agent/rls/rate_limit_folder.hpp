// Follows the folder of --ratelimit-config: reads its YAML files at the start, when they change, and on SIGHUP. If they
// are refused, the former rules stay in force.
//
// The folder is looked at every second. Changed files are read when they are the same one second later, so a writer
// that replaces several files has them taken together. No event is needed, so network file systems work too.
//
// Thread: the constructor, load_first(), start() and stop() run on the owner's thread. refusal() and the counters may
// be used on any thread. Everything else runs on thread_.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/base/clock.hpp"
#include "common/base/file_identity.hpp"
#include "common/rls_config/config_reader.hpp"
#include "common/telemetry/log.hpp"
#include "common/telemetry/metric_table.hpp"

namespace sluice::agent::rls {

using RateLimitConfig = std::shared_ptr<const rls_config::Config>;

// The files *.yaml and *.yml of the folder itself, by name. Names that begin with a dot are left out.
struct FolderState {
  std::vector<std::pair<std::string, FileIdentity>> files;
  bool operator==(const FolderState&) const = default;
};
std::expected<FolderState, Fault> look_at_folder(const std::string& folder);

// Returns the rules of all files, or all faults.
std::expected<rls_config::ReadConfig, std::vector<rls_config::FileFaults>> load_rate_limits(const std::string& folder,
                                                                                            const FolderState& state);

class RateLimitFolder {
 public:
  // Hands the rules to all workers.
  using Publish = std::function<void(const RateLimitConfig& config)>;

  enum class Load : std::uint8_t { loaded, refused };
  static constexpr std::array<std::string_view, 2> kLoads{"loaded", "refused"};

  RateLimitFolder(std::string folder, const Clock& clock, telemetry::Log& log, Publish publish);
  ~RateLimitFolder() { stop(); }

  // Reads and publishes the files. If they are refused, logs all faults and returns false.
  bool load_first();

  // Changes between load_first() and start() are noticed too.
  void start();
  void stop();  // joins the thread

  // A sentence for /readyz if the files are refused, else nullopt.
  std::optional<std::string> refusal() const;

  static const telemetry::MetricTable<RateLimitFolder>& metric_table();
  // The same by the names that exporters of envoyproxy/ratelimit give (--ratelimit-metrics).
  static const telemetry::MetricTable<RateLimitFolder>& load_metrics();

 private:
  static auto loads_of(Load result) {
    return [result](const RateLimitFolder& folder) {
      return folder.loads_[static_cast<std::size_t>(result)].load(std::memory_order_relaxed);
    };
  }
  void wait_for_hangup();
  void schedule_poll();
  void poll();
  bool load();
  void accept(rls_config::ReadConfig read);
  void refuse(const std::vector<rls_config::FileFaults>& faults);
  void log_faults(telemetry::LogLevel level, std::string_view event, const std::vector<rls_config::FileFaults>& all);

  const std::string folder_;
  const Clock& clock_;
  telemetry::Log& log_;
  const Publish publish_;

  boost::asio::io_context context_{1};
  boost::asio::signal_set hangups_;
  boost::asio::steady_timer poll_timer_;
  FolderState read_;    // what the last load has seen
  FolderState polled_;  // what the last poll has seen
  RateLimitConfig in_force_;
  RateLimitConfig former_;  // kept until the next load, so that no worker has to free it

  std::array<std::atomic<std::uint64_t>, kLoads.size()> loads_{};
  mutable std::mutex mutex_;  // guards refusal_
  std::optional<std::string> refusal_;
  std::jthread thread_;
};

}  // namespace sluice::agent::rls
