// A thread that can be joined with a time limit, for work that may block without end, such as libpqxx waiting for a
// silent server. The class does not stop the thread.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

namespace sluice {

class TimedJoinThread {
 public:
  // An exception that leaves `run` ends the process. REQUIRES: called once.
  void start(std::function<void()> run) {
    std::packaged_task<void()> task([run = std::move(run)]() noexcept { run(); });
    finished_ = task.get_future();
    thread_ = std::thread(std::move(task));
  }

  // True for a thread that was never started.
  bool finished_within(std::chrono::milliseconds timeout) const {
    return !thread_.joinable() || finished_.wait_for(timeout) == std::future_status::ready;
  }

  void join() {
    if (thread_.joinable()) thread_.join();
  }

  // Lets the thread go on without this object. REQUIRES: it uses nothing that ends before the process.
  void abandon() {
    if (thread_.joinable()) thread_.detach();
  }

 private:
  std::future<void> finished_;
  std::thread thread_;
};

}  // namespace sluice
