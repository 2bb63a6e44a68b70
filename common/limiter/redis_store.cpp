#include "common/limiter/redis_store.hpp"

#include <algorithm>

#include <boost/asio/post.hpp>

#include "common/limiter/memory_judge.hpp"

namespace sluice::limiter {
namespace {

using std::chrono::steady_clock;

// The least time between reconnects, so that a Redis that refuses every connection does not get one for every call.
constexpr std::chrono::milliseconds kBetweenReconnects{200};

StoreError error_of(redis::Failure failure) {
  switch (failure.kind) {
    case redis::FailureKind::timeout:
      return {StoreFault::timeout, failure.executed_unknown};
    case redis::FailureKind::protocol:
      return {StoreFault::protocol, failure.executed_unknown};
    case redis::FailureKind::unavailable:
      return {StoreFault::unavailable, failure.executed_unknown};
    case redis::FailureKind::disconnected:
      break;
  }
  return {StoreFault::disconnected, failure.executed_unknown};
}

std::string_view tag_of(std::string_view state_key) { return state_key.substr(0, state_key.find('}')); }

}  // namespace

// One script call in flight. It sends the call again if that is known to be safe.
class RedisStore::Pending : public redis::ReplyHandler {
 public:
  explicit Pending(RedisStore& store) : store_(store) {}
  virtual ~Pending() = default;

  void start(Script script, std::optional<Deadline> deadline = {}) {
    script_ = script;
    missing_ = retried_ = false;
    started_ = steady_clock::now();
    deadline_ = deadline.value_or(started_ + store_.deadline_);
    send(CallBy::hash);
  }
  void resend() { send(CallBy::hash); }

  void on_reply(const redis::Reply& reply) final {
    if (!reply.is_error()) {
      if (store_.observer_.answered) store_.observer_.answered(steady_clock::now() - started_);
      answered(reply);
      return;
    }
    StoreError error = classify_error(reply);
    if (error.fault == StoreFault::no_script) {
      if (store_.observer_.failed) store_.observer_.failed(error.fault);
      // Redis executes the load before this call, because both use one connection.
      if (!missing_) store_.load(script_);
      send(missing_ ? CallBy::text : CallBy::hash);
      missing_ = true;
      return;
    }
    if (error.fault == StoreFault::read_only && !retried_) {
      if (store_.observer_.failed) store_.observer_.failed(error.fault);
      retried_ = true;
      store_.retry_on_new_connection(*this);
      return;
    }
    if (reply.error_code() == "TRYAGAIN" && split()) {
      if (store_.observer_.failed) store_.observer_.failed(error.fault);
      return;
    }
    if (error.fault == StoreFault::authentication) store_.reconnect_soon();
    fail(error);
  }
  void on_failure(redis::Failure failure) final { fail(error_of(failure)); }

 protected:
  virtual void write(redis::CommandWriter& out, CallBy by) = 0;
  virtual void answered(const redis::Reply& reply) = 0;
  virtual void failed(const StoreError& error) = 0;
  // Redis Cluster refuses a call of several keys while it moves their slot, if the keys are on different nodes. Sends
  // calls of fewer keys and returns true, or returns false if the call cannot be split.
  virtual bool split() { return false; }

  Deadline deadline() const { return deadline_; }
  void send(CallBy by) { write(store_.client_.begin(*this, deadline_), by); }
  void fail(const StoreError& error) {
    if (store_.observer_.failed) store_.observer_.failed(error.fault);
    failed(error);
  }

  RedisStore& store_;

 private:
  Script script_ = Script::check;
  steady_clock::time_point started_;
  Deadline deadline_;
  bool missing_ = false;  // met NOSCRIPT before
  bool retried_ = false;  // met READONLY before
};

class RedisStore::Judgement final : public Pending {
 public:
  using Pending::Pending;

  void begin(const Call& call, JudgeListener& listener, std::optional<Deadline> deadline = {}) {
    call_ = &call;
    listener_ = &listener;
    turned_ = false;
    if (call.program->has_quotas) quota_periods(*call.program, store_.redis_now_us(), periods_);
    start(Script::check, deadline);
  }

 private:
  void write(redis::CommandWriter& out, CallBy by) override { write_check(out, *call_, periods_, by); }

  void answered(const redis::Reply& reply) override {
    auto read = read_check(reply, *call_);
    if (!read) return fail(read.error());
    if (read->outcome) return settle(std::move(*read->outcome));
    if (turned_) return fail({StoreFault::clock, false});
    turned_ = true;
    store_.learn_redis_now(read->wrong_period.now_us);
    quota_periods(*call_->program, read->wrong_period.now_us, periods_);
    send(CallBy::hash);
  }
  void failed(const StoreError& error) override { settle(std::unexpected(error)); }

  void settle(StoreResult<Outcome> result) {
    JudgeListener* listener = listener_;
    store_.idle_judgements_.emplace_back(this);
    listener->judged(result);
  }

  const Call* call_ = nullptr;
  JudgeListener* listener_ = nullptr;
  bool turned_ = false;  // was asked again with another period
  std::array<PeriodBounds, kMaxLimitsPerPlan> periods_{};
};

// Several rulebooks in one script call.
class RedisStore::JointJudgement final : public Pending {
 public:
  using Pending::Pending;

  // REQUIRES: as judge_all(), and all calls share a hash tag.
  void add(const RulebookCall& call) { calls_.push_back(call); }
  void begin() {
    turned_ = false;
    find_periods(store_.redis_now_us());
    start(Script::check_many);
  }

 private:
  void find_periods(std::int64_t now_us) {
    periods_.resize(calls_.size());
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const Program& program = *calls_[i].call->program;
      if (program.has_quotas) quota_periods(program, now_us, periods_[i]);
    }
  }

  void write(redis::CommandWriter& out, CallBy by) override {
    parts_.clear();
    for (std::size_t i = 0; i < calls_.size(); ++i) parts_.push_back({calls_[i].call, periods_[i]});
    write_check_many(out, parts_, enforced_count(calls_), by);
  }

  // Tells each rulebook its own outcome. Those whose period has ended are asked once more.
  void answered(const redis::Reply& reply) override {
    if (reply.elements.size() != calls_.size()) return fail({StoreFault::protocol, true});
    const std::size_t enforced = enforced_count(calls_);
    std::size_t again = 0;  // calls_[0, again) are asked once more
    std::int64_t now_us = 0;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      StoreResult<CheckReply> read = read_part(reply.elements[i], *calls_[i].call, i < enforced && enforced > 1);
      if (read && !read->outcome && !turned_) {
        now_us = read->wrong_period.now_us;
        calls_[again++] = calls_[i];
      } else if (read && read->outcome) {
        calls_[i].listener->judged(*std::move(read->outcome));
      } else {
        tell_failure(calls_[i], read ? StoreError{StoreFault::clock, false} : read.error());
      }
    }
    calls_.resize(again);
    if (again == 0) return rest();
    turned_ = true;
    store_.learn_redis_now(now_us);
    find_periods(now_us);
    send(CallBy::hash);
  }
  static StoreResult<CheckReply> read_part(const redis::Reply& reply, const Call& call, bool together) {
    if (reply.is_error()) return std::unexpected(classify_error(reply));
    return read_check(reply, call, together);
  }
  void tell_failure(const RulebookCall& call, const StoreError& error) {
    if (store_.observer_.failed) store_.observer_.failed(error.fault);
    call.listener->judged(std::unexpected(error));
  }

  // The enforced rulebooks stay together. Each shadow gets a call of its own.
  bool split() override {
    const std::size_t kept = std::max<std::size_t>(1, enforced_count(calls_));
    if (kept == calls_.size()) return false;
    for (const RulebookCall& shadow : std::span(calls_).subspan(kept)) {
      store_.take(store_.idle_judgements_).begin(*shadow.call, *shadow.listener, deadline());
    }
    calls_.resize(kept);
    send(CallBy::hash);
    return true;
  }

  void failed(const StoreError& error) override {
    for (const RulebookCall& each : calls_) each.listener->judged(std::unexpected(error));
    rest();
  }
  void rest() {
    calls_.clear();
    store_.idle_joint_judgements_.emplace_back(this);
  }

  std::vector<RulebookCall> calls_;
  std::vector<std::array<PeriodBounds, kMaxLimitsPerPlan>> periods_;  // by call
  std::vector<CheckPart> parts_;                                      // keeps its memory
  bool turned_ = false;                                               // was asked once more with other periods
};

// A release or renewal of leases. Leases of several counters (a policy's and its shadow's) may be in several slots of a
// Redis Cluster: each slot gets one call.
class RedisStore::LeaseChange final : public Pending {
 public:
  using Pending::Pending;

  struct Whole {  // shared by the calls of one release or renewal
    LeaseListener* listener = nullptr;
    std::size_t open = 0;
    LeaseOutcome outcome;
    std::optional<StoreError> error;
  };
  void begin(Script script, std::vector<LeaseRef> leases, std::shared_ptr<Whole> whole) {
    script_ = script;
    leases_ = std::move(leases);
    whole_ = std::move(whole);
    start(script);
  }

 private:
  void write(redis::CommandWriter& out, CallBy by) override { write_leases(out, script_, leases_, by); }
  void answered(const redis::Reply& reply) override {
    auto read = read_leases(reply, script_);
    if (!read) return fail(read.error());
    LeaseOutcome& all = whole_->outcome;
    if (read->live) {
      all.expires_at_us = all.live ? std::min(all.expires_at_us, read->expires_at_us) : read->expires_at_us;
      all.live = true;
    }
    settle();
  }
  void failed(const StoreError& error) override {
    whole_->error = error;
    settle();
  }
  void settle() {
    auto whole = std::move(whole_);
    store_.idle_lease_changes_.emplace_back(this);
    if (--whole->open > 0) return;
    if (whole->error)
      whole->listener->settled(std::unexpected(*whole->error));
    else
      whole->listener->settled(whole->outcome);
  }

  Script script_ = Script::release;
  std::vector<LeaseRef> leases_;
  std::shared_ptr<Whole> whole_;
};

class RedisStore::OverrideWrite final : public Pending {
 public:
  using Pending::Pending;

  void begin(std::string_view state_key, std::span<const OverrideEntry> entries, OverrideListener& listener) {
    key_ = state_key;
    entries_.assign(entries.begin(), entries.end());
    listener_ = &listener;
    start(Script::overrides);
  }

 private:
  void write(redis::CommandWriter& out, CallBy by) override { write_overrides(out, key_, entries_, by); }
  void answered(const redis::Reply&) override { settle({}); }
  void failed(const StoreError& error) override { settle(std::unexpected(error)); }
  void settle(StoreResult<void> result) {
    OverrideListener* listener = listener_;
    store_.idle_override_writes_.emplace_back(this);
    listener->stored(result);
  }

  std::string key_;
  std::vector<OverrideEntry> entries_;
  OverrideListener* listener_ = nullptr;
};

class RedisStore::Reset final : public Pending {
 public:
  using Pending::Pending;

  void begin(std::string_view state_key, std::span<const std::string> collections, OverrideListener& listener) {
    key_ = state_key;
    collections_.assign(collections.begin(), collections.end());
    listener_ = &listener;
    start(Script::reset);
  }

 private:
  void write(redis::CommandWriter& out, CallBy by) override { write_reset(out, key_, collections_, by); }
  void answered(const redis::Reply&) override { settle({}); }
  void failed(const StoreError& error) override { settle(std::unexpected(error)); }
  void settle(StoreResult<void> result) {
    OverrideListener* listener = listener_;
    store_.idle_resets_.emplace_back(this);
    listener->stored(result);
  }

  std::string key_;
  std::vector<std::string> collections_;
  OverrideListener* listener_ = nullptr;
};

class RedisStore::Load final : public redis::ReplyHandler {
 public:
  explicit Load(RedisStore& store) : store_(store) {}
  void begin(Script script) {
    script_ = script;
    write_load(store_.client_.begin(*this), script);
  }
  void on_reply(const redis::Reply&) override { settle(); }
  void on_failure(redis::Failure) override { settle(); }

 private:
  void settle() {
    store_.loading_[static_cast<std::size_t>(script_)] = false;
    store_.idle_loads_.emplace_back(this);
  }
  RedisStore& store_;
  Script script_ = Script::check;
};

RedisStore::RedisStore(boost::asio::io_context& context, redis::Client& client, const Clock& clock,
                       std::chrono::milliseconds deadline, RedisStoreObserver observer)
    : context_(context), client_(client), clock_(clock), deadline_(deadline), observer_(std::move(observer)) {}

RedisStore::~RedisStore() = default;

// Returns an idle object, or a new one. An object owns itself while its call is in flight.
template <class Kind>
Kind& RedisStore::take(std::vector<std::unique_ptr<Kind>>& idle) {
  if (idle.empty()) return *new Kind(*this);
  Kind* taken = idle.back().release();
  idle.pop_back();
  return *taken;
}

void RedisStore::judge(const Call& call, JudgeListener& listener) { take(idle_judgements_).begin(call, listener); }

void RedisStore::judge_all(std::span<const RulebookCall> calls) {
  const std::string_view tag = tag_of(calls[0].call->keys[0]);
  const auto joins = [&](const RulebookCall& each) { return each.enforced || tag_of(each.call->keys[0]) == tag; };
  if (std::ranges::count_if(calls, joins) > 1) {
    JointJudgement& joint = take(idle_joint_judgements_);
    for (const RulebookCall& each : calls) {
      if (joins(each)) joint.add(each);
    }
    joint.begin();
  } else {
    judge(*calls[0].call, *calls[0].listener);
  }
  for (const RulebookCall& each : calls.subspan(1)) {
    if (!joins(each)) judge(*each.call, *each.listener);
  }
}

void RedisStore::learn_redis_now(std::int64_t now_us) { clock_ahead_us_ = now_us - clock_.now_us(); }

std::int64_t RedisStore::redis_now_us() const { return clock_.now_us() + clock_ahead_us_; }

void RedisStore::put_overrides(std::string_view state_key, std::span<const OverrideEntry> entries,
                               OverrideListener& listener) {
  take(idle_override_writes_).begin(state_key, entries, listener);
}

void RedisStore::reset(std::string_view state_key, std::span<const std::string> collections,
                       OverrideListener& listener) {
  take(idle_resets_).begin(state_key, collections, listener);
}

void RedisStore::release(std::span<const LeaseRef> leases, LeaseListener& listener) {
  change_leases(Script::release, leases, listener);
}

void RedisStore::renew(std::span<const LeaseRef> leases, LeaseListener& listener) {
  change_leases(Script::renew, leases, listener);
}

void RedisStore::change_leases(Script script, std::span<const LeaseRef> leases, LeaseListener& listener) {
  std::vector<std::vector<LeaseRef>> by_slot;
  for (const LeaseRef& lease : leases) {
    auto same = std::ranges::find_if(
        by_slot, [&](const auto& group) { return tag_of(group[0].state_key) == tag_of(lease.state_key); });
    if (same == by_slot.end())
      by_slot.push_back({lease});
    else
      same->push_back(lease);
  }
  auto whole = std::make_shared<LeaseChange::Whole>();
  whole->listener = &listener;
  whole->open = by_slot.size();
  for (auto& group : by_slot) take(idle_lease_changes_).begin(script, std::move(group), whole);
}

void RedisStore::load_scripts() {
  for (std::size_t i = 0; i < kScripts; ++i) load(static_cast<Script>(i));
}

void RedisStore::load(Script script) {
  bool& loading = loading_[static_cast<std::size_t>(script)];
  if (loading) return;
  loading = true;
  take(idle_loads_).begin(script);
}

void RedisStore::retry_on_new_connection(Pending& pending) {
  retries_.push_back(&pending);
  if (retries_.size() > 1) return;
  // Posted, so that the replies that arrived together with this one come first. They are READONLY too, and all their
  // calls retry on one new connection.
  boost::asio::post(context_, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    if (steady_clock::now() >= next_reconnect_) {
      next_reconnect_ = steady_clock::now() + kBetweenReconnects;
      client_.reconnect();
    }
    for (Pending* waiting : std::exchange(retries_, {})) waiting->resend();
  });
}

// Posted, because the connection must not be closed while it reads a reply.
void RedisStore::reconnect_soon() {
  auto now = steady_clock::now();
  if (now < next_reconnect_) return;
  next_reconnect_ = now + kBetweenReconnects;
  boost::asio::post(context_, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) client_.reconnect();
  });
}

}  // namespace sluice::limiter
