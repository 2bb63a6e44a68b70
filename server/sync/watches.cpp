#include "server/sync/watches.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "server/sync/agent_auth.hpp"

namespace sluice::server::sync {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::size_t kNoSpread = 50;  // up to this many watches, the spread is 0
constexpr std::chrono::milliseconds kMostSpread{1'000};
constexpr std::size_t kSmallFleet = 1'000;  // agents
// The longest wait before agents reconnect if no heartbeat has named reconnect_max.
constexpr std::chrono::milliseconds kReconnect{4'000};
constexpr std::chrono::seconds kLiveKept{1};  // maximum age of the numbers of live agents

// Pairs (organization, tenant); usually far fewer than the changed objects.
using ChangedPairs = std::set<std::pair<std::string_view, std::string_view>>;

void add_pairs(const RevisionChanges& changes, ChangedPairs& pairs) {
  std::pair<std::string_view, std::string_view> last{"-", "-"};  // matches no pair
  for (const ChangedObject& object : changes.objects) {
    const std::pair<std::string_view, std::string_view> pair{object.organization_id, object.tenant()};
    if (pair != last) pairs.insert(pair);
    last = pair;
  }
}

ChangedPairs changed_pairs_since(const History& history, std::int64_t since) {
  ChangedPairs pairs;
  history.for_each_since(since, [&](const RevisionChanges& changes) {
    add_pairs(changes, pairs);
    return true;
  });
  return pairs;
}

bool has_change(const SyncScope& scope, const ChangedPairs& pairs) {
  return std::ranges::any_of(pairs, [&scope](const auto& pair) { return scope.contains(pair.first, pair.second); });
}

struct TracedRevision {
  std::string_view traceparent;
  ChangedPairs pairs;
};

// The oldest one first.
std::vector<TracedRevision> traced_since(const History& history, std::int64_t since) {
  std::vector<TracedRevision> traced;
  history.for_each_since(since, [&](const RevisionChanges& changes) {
    if (changes.traceparent.empty()) return true;
    add_pairs(changes, traced.emplace_back(changes.traceparent, ChangedPairs()).pairs);
    return true;
  });
  return traced;
}

// Of the revisions that changed the scope.
sluice::sync::TracedChanges traces_for(const SyncScope& scope, const std::vector<TracedRevision>& traced) {
  sluice::sync::TracedChanges found;
  for (const TracedRevision& revision : traced) {
    if (has_change(scope, revision.pairs)) found.add(std::string(revision.traceparent));
  }
  return found;
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

struct Watches::ScopeWatches {
  std::list<std::shared_ptr<Watch>> watches;
  // The pointer changes only when the numbers of live agents do.
  std::shared_ptr<const sluice::sync::LiveAgents> live;
  Time live_at;
  std::chrono::milliseconds spread{0};
};

class Watches::Watch final : public sluice::http::StreamEvents {
 public:
  Watch(Watches& all, std::shared_ptr<const AgentToken> its_token, std::string its_agent_id,
        const WatchSchedule& its_schedule, bool its_reads_whatif)
      : token(std::move(its_token)),
        agent_id(std::move(its_agent_id)),
        reads_whatif(its_reads_whatif),
        schedule(its_schedule),
        timer(all.loop_),
        all_(all) {}

  void on_writable() override {
    schedule.unblocked();
    all_.send_due(*this);
  }
  void on_ended() override { all_.remove(*this); }

  std::shared_ptr<const AgentToken> token;
  const std::string agent_id;
  const bool reads_whatif;
  sluice::http::Stream stream;
  bool open = false;                   // the watch is in the list of its scope
  sluice::sync::TracedChanges traced;  // for the next announcement
  std::deque<std::string> questions;   // lines that are not sent yet
  WatchSchedule schedule;
  boost::asio::steady_timer timer;
  Time timer_set_to = Time::max();
  std::uint64_t merged = 0;                                   // merged changes that the statistics already count
  std::shared_ptr<const sluice::sync::LiveAgents> sent_live;  // the numbers last sent; nullptr: send them again
  std::map<SyncScope, ScopeWatches>::iterator scope;
  std::list<std::shared_ptr<Watch>>::iterator entry;

 private:
  Watches& all_;
};

Watches::Watches(boost::asio::io_context& loop, FleetPort& fleet, AnswerPort* answers, SyncStatistics& statistics,
                 const Clock& clock, WatchOptions options)
    : loop_(loop),
      fleet_(fleet),
      answers_(answers),
      statistics_(statistics),
      clock_(clock),
      options_(options),
      review_timer_(loop) {}

Watches::~Watches() = default;

Watches::Time Watches::end_time(const AgentToken& token, Time now) {
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
                   const std::optional<sluice::sync::Position>& held, const SyncStatePtr& state, bool changed,
                   bool reads_whatif) {
  state_ = state;
  const Time now = steady_clock::now();
  std::uniform_int_distribution<std::int64_t> phase(0, options_.heartbeat_every.count() - 1);
  const WatchSchedule schedule(now, changed,
                               {.heartbeat_every = options_.heartbeat_every,
                                .heartbeat_phase = std::chrono::milliseconds(phase(random_)),
                                .end = end_time(*token, now)});
  const SyncScope scope = SyncScope::of(token->caller);
  auto watch = std::make_shared<Watch>(*this, std::move(token), std::move(agent_id), schedule, reads_whatif);
  watch->stream = reply.stream(head, *watch);
  if (!watch->stream.open()) return;  // the peer is gone, and no callback will follow
  watch->scope = scopes_.try_emplace(scope).first;
  auto& watches = watch->scope->second.watches;
  watch->entry = watches.insert(watches.end(), watch);
  watch->open = true;
  if (changed && held && state->history.locate(*held) == History::Relation::within) {
    watch->traced = traces_for(scope, traced_since(state->history, held->revision));
  }
  statistics_.watches = static_cast<std::int64_t>(++count_);
  fleet_.watch_began(watch->token->caller, watch->agent_id, held);
  for (const auto& question : questions_) {
    if (scope.contains(question->organization_id, question->question.tenant_id)) ask_one(*watch, *question);
  }
  send_due(*watch);
}

void Watches::remove(Watch& watch) {
  const std::shared_ptr<Watch> keep_alive = *watch.entry;
  count_merged(watch);
  fleet_.watch_ended(watch.token->caller, watch.agent_id);
  watch.timer.cancel();
  watch.open = false;
  watch.scope->second.watches.erase(watch.entry);
  if (watch.scope->second.watches.empty()) scopes_.erase(watch.scope);
  statistics_.watches = static_cast<std::int64_t>(--count_);
  watch.stream.finish();
}

void Watches::announce(const SyncStatePtr& state) {
  const SyncStatePtr before = std::exchange(state_, state);
  if (!before || count_ == 0) return;
  if (before->epoch != state->epoch) return end_all();
  if (before->tokens != state->tokens || before->bindings != state->bindings) {
    std::vector<std::shared_ptr<Watch>> over;
    for (auto& [scope, group] : scopes_) {
      std::ranges::copy_if(group.watches, std::back_inserter(over),
                           [this](const auto& watch) { return !still_open(*watch); });
    }
    for (const auto& watch : over) remove(*watch);
  }
  wake_changed(before);
}

void Watches::review_through(identity::Reviewer& reviewer) {
  reviewer_ = &reviewer;
  review_pods();
}

void Watches::review_pods() {
  std::vector<std::shared_ptr<Watch>> pods;
  for (const auto& [scope, group] : scopes_) {
    std::ranges::copy_if(group.watches, std::back_inserter(pods),
                         [](const auto& watch) { return watch->token->pod.has_value(); });
  }
  for (const auto& watch : pods) {
    if (const auto cached = reviewer_->cached(watch->token->bearer)) {
      reviewed(watch, cached);
    } else {
      reviewer_->request(watch->token->bearer, [this, of = std::weak_ptr(watch)](
                                                   const identity::CachedReviewPtr& review) { reviewed(of, review); });
    }
  }
  review_timer_.expires_after(options_.review_every);
  review_timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) review_pods();
  });
}

void Watches::reviewed(const std::weak_ptr<Watch>& of, const identity::CachedReviewPtr& result) {
  const auto watch = of.lock();
  if (watch && watch->open && result->review.outcome == identity::Review::Outcome::refused) remove(*watch);
}

// If the history does not reach back to `before`, every scope may have changed.
void Watches::wake_changed(const SyncStatePtr& before) {
  const Time now = steady_clock::now();
  const std::int64_t since = before->head().revision;
  const bool known = state_->history.base().revision <= since;
  const ChangedPairs pairs = known ? changed_pairs_since(state_->history, since) : ChangedPairs();
  const std::vector<TracedRevision> traced =
      known ? traced_since(state_->history, since) : std::vector<TracedRevision>();
  std::vector<std::shared_ptr<Watch>> woken;
  std::vector<ScopeWatches*> changed;
  for (auto& [scope, group] : scopes_) {
    if (known && !has_change(scope, pairs)) continue;
    woken.insert(woken.end(), group.watches.begin(), group.watches.end());
    if (const auto traces = traces_for(scope, traced); !traces.empty()) {
      for (const auto& watch : group.watches) watch->traced.add(traces);
    }
    changed.push_back(&group);
  }
  for (ScopeWatches* group : changed) group->spread = spread_for(woken.size());
  for (const auto& watch : woken) {
    ++statistics_.changes;
    watch->schedule.changed(now);
    send_due(*watch);
  }
}

void Watches::ask(const OpenQuestions& open) {
  const OpenQuestions before = std::exchange(questions_, open);
  for (const auto& question : open) {
    const auto same = [&](const auto& known) { return known->question.id == question->question.id; };
    if (std::ranges::any_of(before, same)) continue;
    std::vector<std::shared_ptr<Watch>> asked;
    for (auto& [scope, group] : scopes_) {
      if (!scope.contains(question->organization_id, question->question.tenant_id)) continue;
      asked.insert(asked.end(), group.watches.begin(), group.watches.end());
    }
    for (const auto& watch : asked) {
      ask_one(*watch, *question);
      if (watch->open) send_due(*watch);
    }
  }
}

void Watches::ask_one(Watch& watch, const OpenQuestion& question) {
  if (watch.reads_whatif) return watch.questions.push_back(write_line(question.question));
  answers_->store(watch.token->caller, watch.agent_id,
                  {.question_id = question.question.id, .status = sluice::sync::WhatIfStatus::too_old},
                  [](AnswerPort::Stored) {});
}

void Watches::end_all() {
  std::vector<std::shared_ptr<Watch>> all;
  for (auto& [scope, group] : scopes_) all.insert(all.end(), group.watches.begin(), group.watches.end());
  for (const auto& watch : all) remove(*watch);
}

// Returns false if the watch's token is no longer valid, or its scope or secret has changed. Otherwise replaces an
// agent token by the newest one with the same id.
bool Watches::still_open(Watch& watch) const {
  if (watch.token->pod) {
    const auto token = token_of_pod(*state_->bindings, *watch.token->pod, watch.token->bearer);
    return token && token->caller == watch.token->caller;
  }
  const auto found = state_->tokens->find(watch.token->caller.token_id);
  if (found == state_->tokens->end() || !auth::is_live(found->second->document, clock_.now_us())) return false;
  if (found->second->caller != watch.token->caller || found->second->hash != watch.token->hash) return false;
  watch.token = found->second;
  return true;
}

// Can destroy `watch`: do not use `watch` after the call.
void Watches::send_due(Watch& watch) {
  while (!watch.questions.empty() && watch.stream.write(watch.questions.front())) watch.questions.pop_front();
  for (;;) {
    const Time now = steady_clock::now();
    const WatchSchedule::Action action = watch.schedule.next(now);
    if (action == WatchSchedule::Action::end) return remove(watch);
    if (action == WatchSchedule::Action::nothing) break;
    if (!watch.stream.write(line_for(watch, action))) {
      watch.schedule.blocked(now);
      watch.sent_live = nullptr;  // the heartbeat with the numbers was not sent
      continue;
    }
    if (action == WatchSchedule::Action::announce) watch.traced.clear();
    ++(action == WatchSchedule::Action::announce ? statistics_.announcements : statistics_.heartbeats);
    watch.schedule.sent(now);
  }
  count_merged(watch);
  set_timer(watch);
}

std::string Watches::line_for(Watch& watch, WatchSchedule::Action action) {
  if (action == WatchSchedule::Action::announce)
    return write_line(sluice::sync::Announcement{
        .head = state_->head(), .spread = watch.scope->second.spread, .traced = watch.traced});
  ScopeWatches& scope = watch.scope->second;
  refresh_live(scope, steady_clock::now());
  sluice::sync::Heartbeat line{.head = state_->head(), .live_agents = {}, .reconnect_max = {}};
  line.reconnect_max = reconnect_max_for(std::max(count_, fleet_.live()));
  if (watch.sent_live != scope.live) line.live_agents = *scope.live;
  watch.sent_live = scope.live;
  return write_line(line);
}

void Watches::refresh_live(ScopeWatches& scope, Time now) {
  if (scope.live && now - scope.live_at < kLiveKept) return;
  scope.live_at = now;
  sluice::sync::LiveAgents live = fleet_.live_agents(scope.watches.front()->token->caller);
  if (!scope.live || *scope.live != live)
    scope.live = std::make_shared<const sluice::sync::LiveAgents>(std::move(live));
}

void Watches::set_timer(Watch& watch) {
  const Time due = watch.schedule.due();
  if (due == watch.timer_set_to) return;
  watch.timer_set_to = due;
  watch.timer.expires_at(due);
  watch.timer.async_wait([this, watched = std::weak_ptr(*watch.entry)](const boost::system::error_code& stopped) {
    const auto still = watched.lock();
    if (stopped || !still) return;
    still->timer_set_to = Time::max();
    send_due(*still);
  });
}

void Watches::count_merged(Watch& watch) {
  const std::uint64_t merged = watch.schedule.counters().merged;
  statistics_.merged_changes += merged - std::exchange(watch.merged, merged);
}

}  // namespace sluice::server::sync
