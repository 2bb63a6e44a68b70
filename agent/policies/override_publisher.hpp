// Writes the overrides of a hand-written bundle into the counters' keys, where every decision finds them, and takes out
// those that a former bundle put there. (With a server only the server publishes them.)
//
// Thread: one worker's.
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

namespace sluice::agent::policies {

// A snapshot to decide by, and the counter keys that carry overrides of those before it and none of its own.
struct Publication {
  std::shared_ptr<const policy::Snapshot> snapshot;
  std::shared_ptr<const std::vector<std::string>> removed;  // may be null: none
};

// Which keys those are, from one snapshot to the next. What was removed stays removed: a store that comes back from an
// older state is told again. Thread: one at a time; not the workers', it takes time where there are many.
class RemovedOverrides {
 public:
  static constexpr std::size_t kMost = 100'000;  // beside those of the last change; the oldest are forgotten

  void change(const policy::Snapshot& before, const policy::Snapshot& now);
  std::shared_ptr<const std::vector<std::string>> keys() const {
    return std::make_shared<const std::vector<std::string>>(keys_);
  }

 private:
  std::vector<std::string> keys_;  // the oldest first
};

class OverridePublisher {
 public:
  static constexpr std::size_t kAtOnce = 16;   // waiting for the store: beside decisions, not before them
  static constexpr std::size_t kPerTurn = 64;  // where the store answers at once: decisions come in between

  // `try_again` is called some time after writes have failed; it may publish.
  OverridePublisher(boost::asio::io_context& context, limiter::CounterStore& store, telemetry::Metrics& metrics,
                    telemetry::Log& log, std::function<void()> try_again)
      : context_(context),
        store_(store),
        metrics_(metrics),
        log_(log),
        try_again_(std::move(try_again)),
        retry_timer_(context) {}
  ~OverridePublisher();  // REQUIRES: the store owes no answer any more

  // Takes out what was removed and writes all of the snapshot's, a few at a time. Called again (after a reconnect, for
  // a new snapshot) it begins anew, once what is on its way has been answered: an old write never comes after a new
  // one.
  void publish(Publication publication);

 private:
  class Run;

  void begin();
  void ended(std::size_t failed, std::size_t total);

  boost::asio::io_context& context_;
  limiter::CounterStore& store_;
  telemetry::Metrics& metrics_;
  telemetry::Log& log_;
  std::function<void()> try_again_;
  boost::asio::steady_timer retry_timer_;
  Backoff retry_delay_{std::chrono::seconds(1), std::chrono::seconds(30)};
  Publication wanted_;  // not begun yet
  bool begin_again_ = false;
  std::weak_ptr<Run> current_;
};

}  // namespace sluice::agent::policies
