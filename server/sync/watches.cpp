#include "server/sync/watches.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "server/sync/agent_auth.hpp"

namespace sluice::server::sync {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::size_t kNoSpread = 50;  // up to so many watches, agents fetch at once
constexpr std::chrono::milliseconds kMostSpread{1'000};
constexpr std::size_t kSmallFleet = 1'000;              // agents
constexpr std::chrono::milliseconds kReconnect{4'000};  // the limit that agents use by themselves
constexpr std::chrono::seconds kLiveKept{1};            // maximum age of the number of live agents

// The pairs (organization, tenant) with changes: far fewer than the changed objects.
using Places = std::set<std::pair<std::string_view, std::string_view>>;

Places places_since(const History& history, std::int64_t since) {
  Places places;
  std::pair<std::string_view, std::string_view> last{"-", "-"};  // matches no pair
  history.for_each_since(since, [&](const Step& step) {
    for (const Touched& touched : step.touched) {
      const std::pair<std::string_view, std::string_view> place{touched.organization_id, touched.tenant()};
      if (place != last) places.insert(place);
      last = place;
    }
    return true;
  });
  return places;
}

}  // namespace

std::chrono::milliseconds spread_for(std::size_t watches) {
  if (watches <= kNoSpread) return 0ms;
  return std::min(kMostSpread, std::chrono::milliseconds(watches / 2));
}

std::optional<std::chrono::milliseconds> reconnect_max_for(std::size_t fleet) {
  if (fleet <= kSmallFleet) return std::nullopt;
  const std::int64_t ms =
      kReconnect.count() * static_cast<std::int64_t>(fleet) / static_cast<std::int64_t>(kSmallFleet);
  return std::min(sluice::sync::kMaxReconnect, std::chrono::milliseconds(ms));
}

// The watches that share one scope.
struct Watches::ScopeWatches {
  std::list<std::shared_ptr<Watch>> watches;
  std::shared_ptr<const sluice::sync::LiveAgents> live;  // the last numbers; replaced only if they differ
  Time live_at;
  std::chrono::milliseconds spread{0};  // of the last change
};

class Watches::Watch final : public sluice::http::StreamEvents {
 public:
  Watch(Watches& all, std::shared_ptr<const AgentToken> its_token, std::string its_agent_id,
        const WatchCourse& its_course)
      : token(std::move(its_token)),
        agent_id(std::move(its_agent_id)),
        course(its_course),
        timer(all.loop_),
        all_(all) {}

  void on_room() override {
    course.room();
    all_.pump(*this);
  }
  void on_ended() override { all_.remove(*this); }

  std::shared_ptr<const AgentToken> token;
  const std::string agent_id;
  sluice::http::Stream stream;
  bool open = false;  // it is in the list of its scope
  WatchCourse course;
  boost::asio::steady_timer timer;
  Time armed = Time::max();
  std::uint64_t folded = 0;                                   // already added to the statistics
  std::shared_ptr<const sluice::sync::LiveAgents> told_live;  // in the last heartbeat
  std::map<SyncScope, ScopeWatches>::iterator scope;
  std::list<std::shared_ptr<Watch>>::iterator place;

 private:
  Watches& all_;
};

Watches::Watches(boost::asio::io_context& loop, FleetPort& fleet, SyncStatistics& statistics, const Clock& clock,
                 WatchOptions options)
    : loop_(loop), fleet_(fleet), statistics_(statistics), clock_(clock), options_(options), review_timer_(loop) {}

Watches::~Watches() = default;

// A random time between life_min and life_max from now, but not after the token's expiry.
Watches::Time Watches::end_of(const AgentToken& token, Time now) {
  std::uniform_int_distribution<std::int64_t> life(options_.life_min.count(), options_.life_max.count());
  Time end = now + std::chrono::milliseconds(life(random_));
  if (token.document.expires_at) {
    const auto left = token.document.expires_at->time_since_epoch() - std::chrono::microseconds(clock_.now_us());
    if (left < end - now) end = now + left;
  }
  return end;
}

void Watches::open(sluice::http::Reply reply, const sluice::http::Response& head,
                   std::shared_ptr<const AgentToken> token, std::string agent_id,
                   const std::optional<sluice::sync::Position>& held, const WorldPtr& world, bool changed) {
  world_ = world;
  const Time now = steady_clock::now();
  std::uniform_int_distribution<std::int64_t> phase(0, options_.heartbeat_every.count() - 1);
  const WatchCourse course(now, changed,
                           {.heartbeat_every = options_.heartbeat_every,
                            .heartbeat_phase = std::chrono::milliseconds(phase(random_)),
                            .end = end_of(*token, now)});
  const SyncScope scope = SyncScope::of(token->caller);
  auto watch = std::make_shared<Watch>(*this, std::move(token), std::move(agent_id), course);
  watch->stream = reply.stream(head, *watch);
  if (!watch->stream.open()) return;  // the peer is gone, and no callback will follow
  watch->scope = scopes_.try_emplace(scope).first;
  auto& watches = watch->scope->second.watches;
  watch->place = watches.insert(watches.end(), watch);
  watch->open = true;
  statistics_.watches = static_cast<std::int64_t>(++count_);
  fleet_.watch_began(watch->token->caller, watch->agent_id, held);
  pump(*watch);
}

void Watches::remove(Watch& watch) {
  const std::shared_ptr<Watch> held = *watch.place;
  count(watch);
  fleet_.watch_ended(watch.token->caller, watch.agent_id);
  watch.timer.cancel();
  watch.open = false;
  watch.scope->second.watches.erase(watch.place);
  if (watch.scope->second.watches.empty()) scopes_.erase(watch.scope);
  statistics_.watches = static_cast<std::int64_t>(--count_);
  watch.stream.finish();
}

void Watches::news(const WorldPtr& world) {
  const WorldPtr before = std::exchange(world_, world);
  if (!before || count_ == 0) return;
  if (before->line != world->line) return end_all();
  if (before->tokens != world->tokens || before->bindings != world->bindings) {
    std::vector<std::shared_ptr<Watch>> over;
    for (auto& [scope, its] : scopes_) {
      std::ranges::copy_if(its.watches, std::back_inserter(over),
                           [this](const auto& watch) { return !still_open(*watch); });
    }
    for (const auto& watch : over) remove(*watch);
  }
  wake(before);
}

void Watches::review_through(identity::Reviewer& reviewer) {
  reviewer_ = &reviewer;
  review_pods();
}

void Watches::review_pods() {
  std::vector<std::shared_ptr<Watch>> pods;
  for (const auto& [scope, its] : scopes_) {
    std::ranges::copy_if(its.watches, std::back_inserter(pods),
                         [](const auto& watch) { return watch->token->pod.has_value(); });
  }
  for (const auto& watch : pods) {
    if (const auto known = reviewer_->known(watch->token->bearer)) {
      reviewed(watch, known);
    } else {
      reviewer_->ask(watch->token->bearer,
                     [this, of = std::weak_ptr(watch)](const identity::KnownReviewPtr& said) { reviewed(of, said); });
    }
  }
  review_timer_.expires_after(options_.review_every);
  review_timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) review_pods();
  });
}

void Watches::reviewed(const std::weak_ptr<Watch>& of, const identity::KnownReviewPtr& known) {
  const auto watch = of.lock();
  if (watch && watch->open && known->review.outcome == identity::Review::Outcome::bad) remove(*watch);
}

// Announces the newest state to every watch with a change in its scope since `before`. If the history does not reach
// back that far, every scope may have changed.
void Watches::wake(const WorldPtr& before) {
  const Time now = steady_clock::now();
  const std::int64_t since = before->head().revision;
  const bool known = world_->history.base().revision <= since;
  const Places places = known ? places_since(world_->history, since) : Places();
  std::vector<std::shared_ptr<Watch>> woken;
  std::vector<ScopeWatches*> touched;
  for (auto& [scope, its] : scopes_) {
    const auto reached = [&scope](const auto& place) { return scope.reaches(place.first, place.second); };
    if (known && !std::ranges::any_of(places, reached)) continue;
    woken.insert(woken.end(), its.watches.begin(), its.watches.end());
    touched.push_back(&its);
  }
  for (ScopeWatches* its : touched) its->spread = spread_for(woken.size());
  for (const auto& watch : woken) {
    ++statistics_.invalidations;
    watch->course.changed(now);
    pump(*watch);
  }
}

void Watches::end_all() {
  std::vector<std::shared_ptr<Watch>> all;
  for (auto& [scope, its] : scopes_) all.insert(all.end(), its.watches.begin(), its.watches.end());
  for (const auto& watch : all) remove(*watch);
}

// Updates the watch's token. Returns false if the token is no longer valid or has another scope.
bool Watches::still_open(Watch& watch) const {
  if (watch.token->pod) {
    const auto pass = pass_of(*world_->bindings, *watch.token->pod, watch.token->bearer);
    return pass && pass->caller == watch.token->caller;
  }
  const auto found = world_->tokens->find(watch.token->caller.token_id);
  if (found == world_->tokens->end() || !auth::is_live(found->second->document, clock_.now_us())) return false;
  if (found->second->caller != watch.token->caller || found->second->hash != watch.token->hash) return false;
  watch.token = found->second;
  return true;
}

// Sends all lines that are due. The watch may be destroyed afterwards.
void Watches::pump(Watch& watch) {
  for (;;) {
    const Time now = steady_clock::now();
    const WatchCourse::Say say = watch.course.next(now);
    if (say == WatchCourse::Say::end) return remove(watch);
    if (say == WatchCourse::Say::nothing) break;
    if (!watch.stream.write(line_of(watch, say))) {
      watch.course.refused(now);
      watch.told_live = nullptr;  // the heartbeat with the numbers was not sent
      continue;
    }
    ++(say == WatchCourse::Say::invalidation ? statistics_.lines : statistics_.heartbeats);
    watch.course.said(now);
  }
  count(watch);
  arm(watch);
}

std::string Watches::line_of(Watch& watch, WatchCourse::Say say) {
  if (say == WatchCourse::Say::invalidation)
    return write_line(sluice::sync::Invalidation{world_->head(), watch.scope->second.spread});
  ScopeWatches& scope = watch.scope->second;
  refresh_live(scope, steady_clock::now());
  sluice::sync::Heartbeat line{.head = world_->head(), .live_agents = {}, .reconnect_max = {}};
  line.reconnect_max = reconnect_max_for(std::max(count_, fleet_.live()));
  if (watch.told_live != scope.live) line.live_agents = *scope.live;
  watch.told_live = scope.live;
  return write_line(line);
}

// Counts the live agents of a scope, unless the last count is younger than kLiveKept.
void Watches::refresh_live(ScopeWatches& scope, Time now) {
  if (scope.live && now - scope.live_at < kLiveKept) return;
  scope.live_at = now;
  sluice::sync::LiveAgents live = fleet_.live_agents(scope.watches.front()->token->caller);
  if (!scope.live || *scope.live != live)
    scope.live = std::make_shared<const sluice::sync::LiveAgents>(std::move(live));
}

// Sets the watch's timer to the time when its next line is due.
void Watches::arm(Watch& watch) {
  const Time due = watch.course.due();
  if (due == watch.armed) return;
  watch.armed = due;
  watch.timer.expires_at(due);
  watch.timer.async_wait([this, watched = std::weak_ptr(*watch.place)](const boost::system::error_code& stopped) {
    const auto still = watched.lock();
    if (stopped || !still) return;
    still->armed = Time::max();
    pump(*still);
  });
}

// Adds the watch's merged changes since the last call to the statistics.
void Watches::count(Watch& watch) {
  const std::uint64_t folded = watch.course.counters().folded;
  statistics_.folded += folded - std::exchange(watch.folded, folded);
}

}  // namespace sluice::server::sync
