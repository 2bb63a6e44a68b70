// Writes the overrides of a bundle file into the counter keys, and removes overrides that the bundle no longer has.
// With --server, the server writes overrides.
//
// Thread: OverridePublisher runs on one worker's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/base/backoff.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/policy/snapshot.hpp"
#include "common/telemetry/log.hpp"
#include "common/telemetry/metrics.hpp"

namespace sluice::policies {

struct Publication {
  std::shared_ptr<const policy::Snapshot> snapshot;
  // Counter keys that had overrides in former snapshots only. nullptr if there are none.
  std::shared_ptr<const std::vector<std::string>> removed;
};

// Collects the counter keys whose overrides were removed since the start. Each publication removes these overrides
// again, because Redis may have restored an older state. Thread safety: none. Do not use it on a worker's thread,
// because its functions can take long.
class RemovedOverrides {
 public:
  // Keeps all keys of the last change, and up to this many keys of earlier changes.
  static constexpr std::size_t kMaxKeys = 100'000;

  void change(const policy::Snapshot& before, const policy::Snapshot& now);
  std::shared_ptr<const std::vector<std::string>> keys() const {
    return std::make_shared<const std::vector<std::string>>(keys_);
  }

 private:
  std::vector<std::string> keys_;  // the oldest first
};

class OverridePublisher {
 public:
  // The maximum number of writes in flight. It is small, so that decisions hardly wait for them.
  static constexpr std::size_t kAtOnce = 16;
  // The most writes in one iteration of the event loop. Reached only if the store answers inside the call.
  static constexpr std::size_t kPerTurn = 64;

  // `retry` is called after writes have failed, with a back-off of 1 s to 30 s. It can call publish().
  OverridePublisher(boost::asio::io_context& context, limiter::CounterStore& store, telemetry::Metrics& metrics,
                    telemetry::Log& log, std::function<void()> retry)
      : context_(context),
        store_(store),
        metrics_(metrics),
        log_(log),
        retry_(std::move(retry)),
        retry_timer_(context) {}
  ~OverridePublisher();  // REQUIRES: the store answers no write any more

  // A new call starts over once the writes in flight are answered, so that an old write never follows a new one.
  void publish(Publication publication);

 private:
  class Run;

  void begin();
  void ended(std::size_t failed, std::size_t total);

  boost::asio::io_context& context_;
  limiter::CounterStore& store_;
  telemetry::Metrics& metrics_;
  telemetry::Log& log_;
  std::function<void()> retry_;
  boost::asio::steady_timer retry_timer_;
  Backoff retry_delay_{std::chrono::seconds(1), std::chrono::seconds(30)};
  Publication next_publication_;
  bool restart_ = false;  // begin again once the current run has ended
  std::weak_ptr<Run> current_;
};

}  // namespace sluice::policies
