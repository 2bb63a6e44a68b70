// A thread that can be joined with a time limit, for work that may block without end (libpqxx waits for ever for a
// server that neither answers nor closes the connection).
//
// This class does not stop the thread: the owner first tells the running function to return, then waits here.
// Thread safety: none; one owner.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

namespace sluice {

class TimedJoinThread {
 public:
  // REQUIRES: not started before. An exception that leaves `run` ends the process.
  void start(std::function<void()> run) {
    std::packaged_task<void()> task([run = std::move(run)]() noexcept { run(); });
    finished_ = task.get_future();
    thread_ = std::thread(std::move(task));
  }

  // Waits up to `timeout` for `run` to return. True also for a thread that was never started.
  bool finished_within(std::chrono::milliseconds timeout) const {
    return !thread_.joinable() || finished_.wait_for(timeout) == std::future_status::ready;
  }

  // Waits without limit. Does nothing for a thread that was never started.
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::future<void> finished_;
  std::thread thread_;
};

}  // namespace sluice
