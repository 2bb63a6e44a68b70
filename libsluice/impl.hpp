// What an Engine owns: the core of the engine with the counters, the policies that the program gives, and the lanes
// that decide.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "common/telemetry/decision_log.hpp"
#include "common/telemetry/log.hpp"
#include "common/telemetry/metrics.hpp"
#include "engine/core/core.hpp"
#include "engine/policies/override_publisher.hpp"
#include "libsluice/file_follower.hpp"
#include "libsluice/lanes.hpp"
#include "libsluice/redis_side.hpp"
#include "sluice/engine.hpp"

namespace sluice::v1 {

// Thread safety: as Engine says. Functions throw std::bad_alloc and what the program's hooks throw, unless they are
// noexcept.
class Engine::Impl {
 public:
  explicit Impl(Options options);
  ~Impl();  // NOLINT(bugprone-exception-escape): without memory for its end it cannot go on
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Opens the counters, and loads the policies that the options name.
  Status start();

  void check(const Request& request, Decision& decision, bool batch = false) noexcept;
  void check_batch(std::span<const Request> requests, std::span<Decision> decisions) noexcept;
  void check_async(const Request& request, Callback callback);
  void wait(const Request& request, Micros at_most, Decision& decision) noexcept;
  Status release(std::string_view tenant, std::string_view lease_id);
  Status renew(std::string_view tenant, std::string_view lease_id, std::int64_t* expires_us);

  Status load(std::string_view bundle);
  Status reload();
  std::uint64_t revision() const noexcept { return revision_.load(std::memory_order_acquire); }
  void run();
  std::size_t poll();
  void stop();
  std::string metrics() const { return options_.metrics ? metrics_.render() : std::string(); }

 private:
  void ask_redis(std::span<const Request> requests, std::span<Decision> decisions, bool batch) noexcept;
  lib::Pause check_once(const Request& request, Decision& decision) noexcept;
  void check_in(lib::Checker& checker, const Request& request, Decision& decision, bool batch) noexcept;
  void tell(const Request& request, const Decision& decision) noexcept;
  Status open_core();
  void open_lanes();
  Status start_file();
  // Sets `tenant`, if nothing names one, to that of the lease, in `memory`.
  Status find_tenant(std::string_view& tenant, std::string_view lease_id, std::string& memory) const;
  Status load_text(std::string_view text, const std::string& path);
  void file_changed(const std::string& text);
  void put_in_force(const std::shared_ptr<const policy::Snapshot>& snapshot);
  void take(const policies::Publication& publication, const std::function<void()>& on_used);

  const Options options_;
  const std::unique_ptr<const Clock> clock_;
  telemetry::Log log_;
  telemetry::Metrics metrics_;
  telemetry::DecisionLog decision_log_;  // logs nothing
  std::optional<engine::Core> core_;     // from start() on
  std::optional<lib::Lanes> lanes_;      // only with counters in memory
  std::optional<lib::RedisSide> redis_;  // only with counters in Redis

  std::mutex mutex_;  // guards the members below; one load at a time
  std::shared_ptr<const policy::Snapshot> in_force_;
  policies::RemovedOverrides removed_;
  std::atomic<std::uint64_t> revision_{0};  // any thread reads it

  std::optional<lib::FileFollower> file_;  // only with Options::watch_file
};

}  // namespace sluice::v1
