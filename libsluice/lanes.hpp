// The checkers of an engine: each is used by one thread at a time.
//
// With several, a thread takes the one that its number leads to, and if that is taken, the next that is free. So
// threads do not wait for each other, and what a thread used last is still in its caches.
//
// A new snapshot reaches each checker before the next check that it begins.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/decide/observer.hpp"
#include "engine/usage/recorder.hpp"
#include "libsluice/checker.hpp"

namespace sluice::lib {

// What the decisions of all lanes are counted into. The parts outlive the lanes.
struct LaneObserving {
  telemetry::Metrics& metrics;
  telemetry::DecisionLog& log;
  usage::Usage* usage = nullptr;  // for as many workers as there are lanes; nullptr: no server asks for it
};

class NoObserver final : public decide::DecisionObserver {
 public:
  void decided(const decide::DecidedCheck&) override {}
  void decided_without_tenant(const Decision&, decide::OverloadCause) override {}
  void key_used(const policy::KeyView&) noexcept override {}
  void waited(const policy::TenantView&, decide::WaitOutcome) override {}
  bool wants_time() const override { return false; }
  void snapshot_replaced() override {}
};

std::size_t lane_count(bool one);
std::size_t number_of_thread();  // of this one; others have most likely another

class alignas(64) Lane {
 public:
  Lane(std::size_t index, const CheckerParts& parts, const LaneObserving* observing);

  bool try_take() { return !taken_.exchange(true, std::memory_order_acquire); }
  void give_back() { taken_.store(false, std::memory_order_release); }

  // REQUIRES: taken, or the only lane of an engine that one thread uses.
  Checker& checker() {
    if (has_news_.load(std::memory_order_acquire)) [[unlikely]]
      take_news();
    return checker_;
  }

  // Any thread.
  void publish(std::shared_ptr<const policy::Snapshot> snapshot);

 private:
  void take_news();

  std::atomic<bool> taken_{false};
  std::atomic<bool> has_news_{false};
  NoObserver nobody_;
  std::optional<usage::Recorder> recorder_;
  Checker checker_;
  std::mutex mutex_;  // guards news_
  std::shared_ptr<const policy::Snapshot> news_;
};

class Lanes {
 public:
  // `one`: only one thread at a time calls take(). `observing`: nullptr if nobody counts.
  Lanes(bool one, const CheckerParts& parts, const LaneObserving* observing);

  // One lane, until the end of this object.
  class Taken {
   public:
    Taken(Lane& lane, bool locked) : lane_(lane), locked_(locked) {}
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    ~Taken() {
      if (locked_) lane_.give_back();
    }
    Checker& operator*() { return lane_.checker(); }
    Checker* operator->() { return &lane_.checker(); }

   private:
    Lane& lane_;
    const bool locked_;
  };
  Taken take() { return one_ ? Taken(first_, false) : take_free(); }

  // Any thread, one at a time. A former snapshot ends on this thread, unless a check uses it now.
  void publish(const std::shared_ptr<const policy::Snapshot>& snapshot);

 private:
  Taken take_free();

  const bool one_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // their number is a power of two
  Lane& first_;
};

}  // namespace sluice::lib
