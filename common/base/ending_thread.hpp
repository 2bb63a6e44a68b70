// A thread whose end is waited for: for so long at the most, where what it does may hang, or until it comes.
//
// Whoever owns it tells what it runs to end, then waits. Thread safety: none; one owner.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

namespace sluice {

class EndingThread {
 public:
  // REQUIRES: not started before. What `run` throws ends the program.
  void start(std::function<void()> run) {
    std::packaged_task<void()> task([run = std::move(run)]() noexcept { run(); });
    ended_ = task.get_future();
    thread_ = std::thread(std::move(task));
  }

  // Has it come to its end by then? Also where it was not started.
  bool ended_within(std::chrono::milliseconds patience) const {
    return !thread_.joinable() || ended_.wait_for(patience) == std::future_status::ready;
  }

  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::future<void> ended_;
  std::thread thread_;
};

}  // namespace sluice
