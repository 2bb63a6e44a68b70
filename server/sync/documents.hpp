// Builds and compresses the answers to fetches on two threads. An answer that several agents fetch is built once.
// Deltas have a thread of their own, so they do not wait behind full snapshots of large scopes.
//
// Answers are cached while their state is the newest; all cached answers together have at most kMaxBytes.
//
// Thread: the loop; callbacks run there too.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "common/http/message.hpp"
#include "server/sync/document.hpp"
#include "server/sync/statistics.hpp"

namespace sluice::server::sync {

class JobThread {
 public:
  using Job = std::move_only_function<void()>;

  JobThread() : thread_([this] { work(); }) {}
  ~JobThread() { stop(); }
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  void run(Job job);
  void stop();

 private:
  void work();

  std::mutex mutex_;  // guards jobs_ and stopping_
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

class Documents {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;
  static constexpr std::size_t kMinGzipBytes = 1024;

  struct Answer {
    sluice::http::SharedBody body;  // nullptr: building the answer failed
    bool gzipped = false;
    bool is_full = true;  // false: a delta
  };
  using Done = std::move_only_function<void(const Answer&)>;

  Documents(boost::asio::io_context& loop, SyncStatistics& statistics);
  ~Documents();
  Documents(const Documents&) = delete;
  Documents& operator=(const Documents&) = delete;

  // May call `done` before get() returns. `gzipped`: the agent accepts gzip. REQUIRES: `state` is not older than in any
  // earlier call; `since` is as make_document() requires.
  void get(const SyncStatePtr& state, const SyncScope& scope, std::optional<std::int64_t> since, bool gzipped,
           Done done);

  // Runs a job on the thread for full snapshots.
  void run(std::move_only_function<void()> job) { snapshots_.run(std::move(job)); }

  // Frees the object sets of unused scopes.
  void tidy();
  // Waits for the running jobs, and discards waiting jobs.
  void stop();

 private:
  // SyncState::sequence, scope, `since` (−1: none), gzipped.
  using Key = std::tuple<std::uint64_t, SyncScope, std::int64_t, bool>;
  struct Entry {
    Answer answer;
    bool ready = false;
    std::vector<Done> waiting;
  };

  void build(const SyncState& state, const SyncScope& scope, std::optional<std::int64_t> since, bool gzipped,
             Answer& answer);
  void finish(const Key& key, Answer answer);
  void drop_older(std::uint64_t sequence);

  boost::asio::io_context& loop_;
  SyncStatistics& statistics_;

  // Only the loop's thread uses these.
  std::map<Key, Entry> entries_;
  std::uint64_t newest_ = 0;
  std::size_t bytes_ = 0;

  ScopeSets sets_;
  JobThread deltas_;
  JobThread snapshots_;
};

}  // namespace sluice::server::sync
