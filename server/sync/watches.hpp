// The open watch streams of all agents.
//
// A stream ends after 5 to 10 min, or earlier if its token becomes invalid or gets another scope. All streams end if
// PostgreSQL has another history than before, because revisions on one stream must only grow. Kubernetes reviews a
// pod's token again while its stream is open. The stream stays open while Kubernetes cannot be reached, because a fetch
// needs a reviewed token anyway.
//
// Thread: the loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/base/clock.hpp"
#include "common/http/server.hpp"
#include "common/sync/watch_line.hpp"
#include "server/identity/reviewer.hpp"
#include "server/sync/questions.hpp"
#include "server/sync/statistics.hpp"
#include "server/sync/sync_state.hpp"
#include "server/sync/watch_schedule.hpp"

namespace sluice::server::sync {

struct WatchOptions {
  std::chrono::milliseconds heartbeat_every{2'000};
  std::chrono::milliseconds life_min{std::chrono::minutes(5)};
  std::chrono::milliseconds life_max{std::chrono::minutes(10)};
  std::chrono::milliseconds review_every{5'000};  // how often to look for pods' tokens that need another review
};

// The time over which agents spread their fetches after the same change. A small server can answer two fetches in 1 ms
// besides its other work.
std::chrono::milliseconds spread_for(std::size_t watches);

// The longest wait before an agent reconnects; nullopt: each agent uses its own limit of 4 s.
std::optional<std::chrono::milliseconds> reconnect_max_for(std::size_t fleet);

class Watches {
 public:
  // `answers`: gets "too old" for agents that cannot read questions; nullptr if nothing is asked.
  Watches(boost::asio::io_context& loop, FleetPort& fleet, AnswerPort* answers, SyncStatistics& statistics,
          const Clock& clock, WatchOptions options);
  ~Watches();
  Watches(const Watches&) = delete;
  Watches& operator=(const Watches&) = delete;

  // `head`: the response's status and header fields. `held`: the position of the agent's snapshot, if any. `state`: the
  // newest state. `changed`: the agent's snapshot may be older than `state`. `reads_whatif`: it answers questions.
  void open(sluice::http::Reply reply, const sluice::http::Response& head, std::shared_ptr<const AgentToken> token,
            std::string agent_id, const std::optional<sluice::sync::Position>& held, const SyncStatePtr& state,
            bool changed, bool reads_whatif);

  // REQUIRES: called before the first stream opens.
  void review_through(identity::Reviewer& reviewer);

  // Ends the watches that must not stay open, and wakes each watch that may have a changed object in its scope.
  void announce(const SyncStatePtr& state);
  // These questions are open now. Asks each agent whose scope has the tenant, once on each of its streams.
  void ask(const OpenQuestions& open);
  void end_all();

  std::size_t open_count() const { return count_; }

 private:
  class Watch;
  struct ScopeWatches;
  using Time = WatchSchedule::Time;

  void review_pods();
  void reviewed(const std::weak_ptr<Watch>& of, const identity::CachedReviewPtr& result);
  void wake_changed(const SyncStatePtr& before);
  bool still_open(Watch& watch) const;
  void ask_one(Watch& watch, const OpenQuestion& question);
  void send_due(Watch& watch);
  std::string line_for(Watch& watch, WatchSchedule::Action action);
  void refresh_live(ScopeWatches& scope, Time now);
  void set_timer(Watch& watch);
  void count_merged(Watch& watch);
  void remove(Watch& watch);
  Time end_time(const AgentToken& token, Time now);

  boost::asio::io_context& loop_;
  FleetPort& fleet_;
  AnswerPort* const answers_;
  SyncStatistics& statistics_;
  const Clock& clock_;
  const WatchOptions options_;
  std::minstd_rand random_{std::random_device{}()};
  identity::Reviewer* reviewer_ = nullptr;
  boost::asio::steady_timer review_timer_;
  SyncStatePtr state_;
  OpenQuestions questions_;
  std::map<SyncScope, ScopeWatches> scopes_;
  std::size_t count_ = 0;
};

}  // namespace sluice::server::sync
