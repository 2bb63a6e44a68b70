// What an Engine owns: the clock, the counters, the policies in force, and the lanes that decide.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "common/limiter/memory_store.hpp"
#include "common/telemetry/log.hpp"
#include "engine/policies/override_publisher.hpp"
#include "engine/policies/server_source.hpp"
#include "engine/usage/usage.hpp"
#include "libsluice/file_follower.hpp"
#include "libsluice/lanes.hpp"
#include "libsluice/observers.hpp"
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
  std::string metrics() const { return options_.metrics ? counting_->render() : std::string(); }

 private:
  void ask_redis(std::span<const Request> requests, std::span<Decision> decisions, bool batch) noexcept;
  lib::Pause check_once(const Request& request, Decision& decision) noexcept;
  void check_in(lib::Checker& checker, const Request& request, Decision& decision, bool batch) noexcept;
  void tell(const Request& request, const Decision& decision) noexcept;
  Status start_file();
  Status start_server();
  Status load_text(std::string_view text, const std::string& path);
  void file_changed(const std::string& text);
  void put_in_force(const std::shared_ptr<const policy::Snapshot>& snapshot);
  Status open_counters();

  const Options options_;
  const std::unique_ptr<const Clock> clock_;
  telemetry::Log log_;
  limiter::MemoryCounters counters_;
  std::optional<lib::Counting> counting_;  // only with Options::metrics, with a server, and with Redis
  std::optional<usage::Usage> usage_;      // only with a server, which gets reports of it
  decide::InFlight in_flight_{SIZE_MAX};   // the program itself bounds how much it asks
  decide::WaitingPlaces waiting_{0};       // nothing is held: Engine::wait() waits
  std::optional<lib::Lanes> lanes_;        // only with counters in memory
  std::optional<lib::RedisSide> redis_;    // only with counters in Redis

  std::mutex mutex_;  // guards the members below; one load at a time
  std::shared_ptr<const policy::Snapshot> in_force_;
  policies::RemovedOverrides removed_;
  std::atomic<std::uint64_t> revision_{0};  // any thread reads it

  // The sources with a thread.
  std::optional<lib::FileFollower> file_;         // only with Options::watch_file
  std::optional<policies::ServerSource> server_;  // only with Options::server
};

}  // namespace sluice::v1
