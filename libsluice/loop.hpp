// An io_context that is run by whoever waits for an answer: one thread at a time, the leader. The others wait until
// they have their answer, or until the leader has its own; then one of them leads.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace sluice::lib {

// Thread safety: any thread. What runs on the loop runs on one thread at a time.
class Loop {
 public:
  // Somebody who waits for something that happens on the loop.
  class Waiter {
   public:
    Waiter() = default;
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

   private:
    friend class Loop;
    bool done_ = false;
    std::condition_variable wake_;
  };

  // `mend`: called on the loop after something on it has thrown, which may have ended a timer or a read that others
  // wait for. It begins them anew. If it throws, it is called again.
  explicit Loop(std::function<void()> mend) : mend_(std::move(mend)), work_(boost::asio::make_work_guard(context_)) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  boost::asio::io_context& context() { return context_; }

  // Calls `begin` on the loop, and returns after the call of finish(). `begin` must not throw. May be called on the
  // loop itself, but not while it works on something else than what was posted to it. Throws std::bad_alloc before
  // `begin`.
  void run_until_finished(Waiter& waiter, const std::function<void()>& begin);
  void finish(Waiter& waiter);             // on the loop
  void want_mending() { broken_ = true; }  // on the loop

  // Leads until stop(), or waits to lead. A stop() that comes before ends it at once. On the loop it does nothing.
  void run();
  // Runs what is ready, and returns how much that was; 0 if another thread leads.
  std::size_t poll();
  void stop();  // ends all that are in run(), or the next run() if none is
  bool is_here() const { return leader_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

 private:
  // Each REQUIRES: mutex_ is locked.
  void lead() { leader_.store(std::this_thread::get_id(), std::memory_order_relaxed); }
  bool is_led() const { return leader_.load(std::memory_order_relaxed) != std::thread::id(); }
  void leave();
  void leave_followers(Waiter& waiter);
  void wake_next();

  void lead_until_done(Waiter& waiter);
  template <class Run>
  std::size_t guarded(Run run) noexcept;
  void mend_soon();
  void turn() noexcept;
  std::size_t run_ready() noexcept;

  const std::function<void()> mend_;
  bool broken_ = false;  // the leader's; so is mended_at_
  std::chrono::steady_clock::time_point mended_at_{};
  // One thread at a time runs it. But with the hint 1, what a handler posts would wait until the handler returns, and a
  // callback that asks again runs the loop itself.
  boost::asio::io_context context_{2};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::atomic<std::uint64_t> stops_{0};  // changed under mutex_; the leader reads it without

  std::mutex mutex_;                       // guards changes of the members below, and Waiter::done_
  std::atomic<std::thread::id> leader_{};  // the default id: nobody
  std::vector<Waiter*> followers_;         // that may lead next
  std::size_t runs_ = 0;                   // threads in run()
  bool stops_next_ = false;                // a stop() that came before run()
};

}  // namespace sluice::lib
