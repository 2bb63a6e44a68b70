// The open watch streams of all agents: who hears of what, and when.
//
// Only changes within its scope wake a watch; what it says and when is watch_course's. A stream ends after some
// minutes, when its token opens nothing any more, and when PostgreSQL's history was changed: revisions on one stream
// only grow. The token of a pod is reviewed again for as long as its stream is open; one that Kubernetes takes no more
// ends it. While Kubernetes cannot be asked it stays open: what it tells of must be fetched, and that needs a token
// that is proved.
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
#include "server/sync/statistics.hpp"
#include "server/sync/watch_course.hpp"
#include "server/sync/world.hpp"

namespace sluice::server::sync {

struct WatchOptions {
  std::chrono::milliseconds heartbeat_every{2'000};
  std::chrono::milliseconds life_min{std::chrono::minutes(5)};
  std::chrono::milliseconds life_max{std::chrono::minutes(10)};
  std::chrono::milliseconds review_every{
      5'000};  // how often it is looked whether pods' tokens are to be reviewed again
};

// Over which time the agents that hear of a change at once begin to fetch: a few need no spreading; of many, two a
// millisecond, which is what a small server answers beside its other work.
std::chrono::milliseconds spread_for(std::size_t watches);

// The longest wait before a lost agent comes back, where it is another than agents know by themselves: one a thousand
// agents and agents' own cap. Nothing for fleets up to 1,000.
std::optional<std::chrono::milliseconds> reconnect_max_for(std::size_t fleet);

class Watches {
 public:
  Watches(boost::asio::io_context& loop, FleetPort& fleet, SyncStatistics& statistics, const Clock& clock,
          WatchOptions options);
  ~Watches();
  Watches(const Watches&) = delete;
  Watches& operator=(const Watches&) = delete;

  // Answers with a stream. `held`: where the agent is; `changed`: its state of its scope is not that of `world`, the
  // newest.
  void open(sluice::http::Reply reply, const sluice::http::Response& head, std::shared_ptr<const AgentToken> token,
            std::string agent_id, const std::optional<sluice::sync::Position>& held, const WorldPtr& world,
            bool changed);

  // Before the first is opened: who reviews the tokens of pods.
  void review_through(identity::Reviewer& reviewer);

  // What all hear of from now on.
  void news(const WorldPtr& world);

  // Finishes all of them.
  void end_all();

  std::size_t open_count() const { return count_; }

 private:
  class Watch;
  struct ScopeWatches;
  using Time = WatchCourse::Time;

  void review_pods();
  void reviewed(const std::weak_ptr<Watch>& of, const identity::KnownReviewPtr& known);
  void wake(const WorldPtr& before);
  bool still_open(Watch& watch) const;
  void pump(Watch& watch);
  std::string line_of(Watch& watch, WatchCourse::Say say);
  void refresh_live(ScopeWatches& scope, Time now);
  void arm(Watch& watch);
  void count(Watch& watch);
  void remove(Watch& watch);
  Time end_of(const AgentToken& token, Time now);

  boost::asio::io_context& loop_;
  FleetPort& fleet_;
  SyncStatistics& statistics_;
  const Clock& clock_;
  const WatchOptions options_;
  std::minstd_rand random_{std::random_device{}()};
  identity::Reviewer* reviewer_ = nullptr;
  boost::asio::steady_timer review_timer_;
  WorldPtr world_;
  std::map<SyncScope, ScopeWatches> scopes_;
  std::size_t count_ = 0;
};

}  // namespace sluice::server::sync
