// Answers to fetches: built and packed on threads of their own, identical ones once, and shared by all who ask for
// them. Deltas, which agents wait for, do not stand behind the whole of a large scope: there is a thread for each.
//
// Answers are kept while their state is the newest, within kMostBytes; who asks while one is being built waits for that
// one. Thread: the loop, where the callbacks run too. run() is for other work that belongs on no loop.
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

// A thread that does one job after the other.
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
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;
  static constexpr std::size_t kLeastPacked = 1024;  // smaller ones are not worth it

  struct Answer {
    sluice::http::SharedBody body;  // nullptr: it could not be made
    bool packed = false;            // gzip
    bool whole = true;
  };
  using Taken = std::move_only_function<void(const Answer&)>;

  Documents(boost::asio::io_context& loop, SyncStatistics& statistics);
  ~Documents();  // as stop()
  Documents(const Documents&) = delete;
  Documents& operator=(const Documents&) = delete;

  // REQUIRES: states come in order; `since` as of make_document. `taken` may be called before this returns.
  void get(const WorldPtr& world, const SyncScope& scope, std::optional<std::int64_t> since, bool packed, Taken taken);

  // On the thread of what takes long, in order.
  void run(std::move_only_function<void()> job) { slow_.run(std::move(job)); }

  // Lets go of what nobody has asked for in some minutes.
  void tidy();
  // Ends the threads after the jobs they are at; what waits is thrown away.
  void stop();

 private:
  using Key = std::tuple<std::uint64_t, SyncScope, std::int64_t, bool>;  // the state's number first; since, −1: none
  struct Entry {
    Answer answer;
    bool ready = false;
    std::vector<Taken> waiting;
  };

  void build(const World& world, const SyncScope& scope, std::optional<std::int64_t> since, bool packed,
             Answer& answer);
  void finish(const Key& key, Answer answer);
  void forget_older(std::uint64_t number);

  boost::asio::io_context& loop_;
  SyncStatistics& statistics_;

  // The loop's.
  std::map<Key, Entry> entries_;
  std::uint64_t newest_ = 0;
  std::size_t bytes_ = 0;

  ScopeSets sets_;
  JobThread quick_;
  JobThread slow_;
};

}  // namespace sluice::server::sync
