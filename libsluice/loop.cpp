#include "libsluice/loop.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace sluice::lib {
namespace {

constexpr std::chrono::milliseconds kBetweenMendings{1};

}  // namespace

void Loop::run_until_finished(Waiter& waiter, const std::function<void()>& begin) {
  if (is_here()) {
    begin();
    return lead_until_done(waiter);
  }
  std::unique_lock lock(mutex_);
  if (!is_led()) {
    lead();
    lock.unlock();
    run_ready();  // what has happened meanwhile comes first: a connection that was lost, other policies
    begin();
    lead_until_done(waiter);
    lock.lock();
    return leave();
  }
  followers_.push_back(&waiter);
  try {
    boost::asio::post(context_, begin);
  } catch (...) {
    leave_followers(waiter);
    throw;
  }
  while (!waiter.done_ && is_led()) waiter.wake_.wait(lock);
  if (!waiter.done_) {
    lead();
    lock.unlock();
    lead_until_done(waiter);
    lock.lock();
    leave();
  }
  leave_followers(waiter);
}

// Only the leader sets done_ of its own waiter, so it reads it without the lock.
void Loop::lead_until_done(Waiter& waiter) {
  while (!waiter.done_) turn();
}

void Loop::finish(Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  waiter.done_ = true;
  waiter.wake_.notify_one();  // under the lock: afterwards the waiter may be gone
}

// An allocation that fails ends one event, and what this event would have begun. The loop goes on with the others.
template <class Run>
std::size_t Loop::guarded(Run run) noexcept {
  try {
    if (std::exchange(broken_, false)) mend_soon();  // which may run the loop itself
    return run();
  } catch (...) {
    broken_ = true;
    return 1;
  }
}

// While there is no memory, the thread must not do nothing else than this.
void Loop::mend_soon() {
  std::this_thread::sleep_until(mended_at_ + kBetweenMendings);
  mended_at_ = std::chrono::steady_clock::now();
  mend_();
}

void Loop::turn() noexcept {
  guarded([this] { return context_.run_one(); });
}

std::size_t Loop::run_ready() noexcept {
  return guarded([this] { return context_.poll(); });
}

void Loop::leave() {
  leader_.store({}, std::memory_order_relaxed);
  wake_next();
}

void Loop::leave_followers(Waiter& waiter) {
  std::erase(followers_, &waiter);
  wake_next();
}

// One that has its answer would not lead.
void Loop::wake_next() {
  if (is_led()) return;
  const auto next = std::ranges::find(followers_, false, &Waiter::done_);
  if (next != followers_.end()) (*next)->wake_.notify_one();
}

// A callback is called by a run() that goes on after it.
void Loop::run() {
  if (is_here()) return;
  Waiter self;
  std::unique_lock lock(mutex_);
  if (std::exchange(stops_next_, false)) return;
  followers_.push_back(&self);
  ++runs_;
  const std::uint64_t stops = stops_;
  while (is_led() && stops_ == stops) self.wake_.wait(lock);
  if (stops_ == stops) {
    lead();
    lock.unlock();
    while (stops_ == stops) turn();
    lock.lock();
    leave();
  }
  --runs_;
  leave_followers(self);
}

std::size_t Loop::poll() {
  {
    const std::lock_guard lock(mutex_);
    if (is_led()) return 0;
    lead();
  }
  const std::size_t done = run_ready();
  const std::lock_guard lock(mutex_);
  leave();
  return done;
}

void Loop::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (runs_ == 0) stops_next_ = true;
    ++stops_;
    for (Waiter* follower : followers_) follower->wake_.notify_one();
  }
  boost::asio::post(context_, [] {});  // wakes the leader
}

}  // namespace sluice::lib
