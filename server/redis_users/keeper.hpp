// Keeps a Redis user for each agent token and binding, and the library of functions that they call, right on every
// primary; and tells agents their logins.
//
// A thread compares what the tokens and bindings need with what it has written. It looks every second, and at once when
// they change or the link connects. A Redis with a new run id (a restart, a failover, a new node) gets everything
// again. Several servers may do so at the same time: they write the same.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.hpp"
#include "common/base/file_identity.hpp"
#include "common/base/timed_join_thread.hpp"
#include "common/telemetry/log.hpp"
#include "server/counters/redis_link.hpp"
#include "server/redis_users/node_users.hpp"
#include "server/redis_users/secret.hpp"
#include "server/redis_users/wanted_users.hpp"
#include "server/sync/counters_login.hpp"

namespace sluice::server::redis_users {

class Keeper final : public sync::CountersLogin {
 public:
  using Tokens = std::set<std::string, std::less<>>;

  struct Options {
    std::string secret_file;
    std::chrono::milliseconds check_every{1'000};
    std::chrono::milliseconds list_every{5'000};  // the names of all users, and the library
    // By then every live agent has reported which secret its login is of, and this server has read all reports.
    std::chrono::milliseconds settle_after{15'000};
  };
  // What the keeper asks its surroundings. Both are called on its thread.
  struct Questions {
    // The tokens and bindings of agents whose login is of another generation.
    std::function<Tokens(std::string_view generation)> tokens_with_other_logins;
    // Whether the states are PostgreSQL's newest. If not, another server may know users that this one does not.
    std::function<bool()> follows_postgres;
  };

  // `link` outlives the keeper's thread.
  Keeper(Options options, counters::RedisLink& link, Questions questions, const Clock& clock, telemetry::Log& log);
  ~Keeper() override;
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  void start();
  void stop();
  void wake();
  void set_state(sync::SyncStatePtr state);

  bool needs_functions() const override { return true; }
  // {"username":…,"password":…,"functions":true,"generation":…}
  Result<std::string> document(const sync::AgentCaller& caller) const override;

  // Sentences for /readyz.
  std::vector<std::string> degraded() const;

  struct Statistics {
    std::atomic<std::int64_t> users{0};           // that agents need
    std::atomic<std::uint64_t> written{0};        // users written, on all primaries
    std::atomic<std::uint64_t> failed{0};         // commands that failed
    std::atomic<std::uint64_t> removed{0};        // users deleted
    std::atomic<std::int64_t> behind{0};          // primaries that lack something
    std::atomic<std::uint64_t> new_primaries{0};  // run ids that were seen for the first time
  };
  const Statistics& statistics() const { return statistics_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  using Request = counters::RedisLink::Request;
  using Answer = counters::RedisLink::Answer;

  // One primary, known by its run id.
  struct Node {
    NodeUsers users;
    bool has_library = false;
    std::optional<Time> listed_at;
    std::optional<Time> shared_at;  // when forget_shared() was last called
    Time retry_at{};                // after Redis has refused a command
    bool seen = true;               // in this round
  };

  void run();
  bool wait(std::chrono::nanoseconds time);  // returns false if the thread must stop
  bool stopping() const;
  bool run_once();

  void read_secret_file();
  void update_lines();
  void update_settled();

  bool serve(const std::string& key);
  bool list(const std::string& key, Node& node);
  bool write_changes(const std::string& key, const std::string& run_id, Node& node);
  bool write_library(const std::string& key, Node& node);
  std::optional<std::string> run_id_of(const std::string& key);
  void note(const Error& why);
  void refused(Node& node, const Error& why);
  void note_good();

  const Options options_;
  counters::RedisLink& link_;
  const Questions questions_;
  const Clock& clock_;
  telemetry::Log& log_;
  Statistics statistics_;

  // Only the thread uses these, and start() before it.
  std::map<std::string, Node> nodes_;  // by run id
  std::optional<FileIdentity> secret_seen_;
  std::string secret_fault_;      // as logged
  std::optional<Secret> secret_;  // what the users' passwords are made from
  std::optional<Secret> former_;  // until all agents use secret_
  Time secret_since_{};
  bool settled_ = false;  // nobody uses another secret
  // Of agents that still use another secret, or nullopt while it is too early to know.
  std::optional<Tokens> other_logins_;
  sync::SyncStatePtr used_;  // the state that wanted_ is of
  WantedUsers wanted_;
  UserLines lines_;
  bool lines_outdated_ = true;

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool stopping_ = false;
  bool woken_ = false;
  sync::SyncStatePtr state_;
  std::optional<Secret> given_;  // for document(): users with passwords of this secret have been written
  std::string problem_;          // for degraded()
  std::string secret_problem_;   // for degraded()
  TimedJoinThread thread_;
};

}  // namespace sluice::server::redis_users
