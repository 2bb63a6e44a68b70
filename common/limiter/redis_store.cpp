#include "common/limiter/redis_store.hpp"

#include <algorithm>

#include "common/limiter/joint_judgement.hpp"
#include "common/limiter/memory_judge.hpp"
#include "common/limiter/pending_call.hpp"

namespace sluice::limiter {
namespace {

using std::chrono::steady_clock;

StoreError error_of(redis::Failure failure) {
  switch (failure.kind) {
    case redis::FailureKind::timeout:
      return {StoreFault::timeout, failure.executed_unknown};
    case redis::FailureKind::protocol:
      return {StoreFault::protocol, failure.executed_unknown};
    case redis::FailureKind::unavailable:
      return {StoreFault::unavailable, failure.executed_unknown};
    case redis::FailureKind::breaker_open:
      return {StoreFault::breaker_open, failure.executed_unknown};
    case redis::FailureKind::overload:
      return {StoreFault::overload, failure.executed_unknown};
    case redis::FailureKind::queue_timeout:
      return {StoreFault::queue_timeout, failure.executed_unknown};
    case redis::FailureKind::disconnected:
      break;
  }
  return {StoreFault::disconnected, failure.executed_unknown};
}

std::string_view tag_of(std::string_view counter_key) { return counter_key.substr(0, counter_key.find('}')); }

}  // namespace

void RedisStore::Pending::on_reply(const redis::Reply& reply) {
  if (!reply.is_error()) {
    if (store_.observer_.answered) store_.observer_.answered(steady_clock::now() - started_);
    answered(reply);
    return;
  }
  const StoreError error = classify_error(reply);
  if (reply.error_code() == "TRYAGAIN" && (split() || store_.client_.postpone(*this, key()))) {
    if (store_.observer_.failed) store_.observer_.failed(error.fault);
    return;
  }
  fail(error);
}

void RedisStore::Pending::on_failure(redis::Failure failure) { fail(error_of(failure)); }

class RedisStore::Judgement final : public Pending {
 public:
  using Pending::Pending;

  void begin(const Call& call, JudgeListener& listener, std::optional<TimePoint> answer_by = {}) {
    call_ = &call;
    listener_ = &listener;
    has_new_periods_ = false;
    if (call.program->has_quotas) quota_periods(*call.program, store_.redis_now_us(), periods_);
    start(Script::check, call.origin, answer_by);
  }

 private:
  std::string_view key() const override { return call_->keys[0]; }
  void write(redis::CommandWriter& out, CallBy by) override { write_check(out, *call_, periods_, by); }

  void answered(const redis::Reply& reply) override {
    auto read = reading([&] { return read_check(reply, *call_); });
    if (!read) return fail(read.error());
    if (read->outcome) return settle(std::move(*read->outcome));
    if (has_new_periods_) return fail({StoreFault::clock, false});
    has_new_periods_ = true;
    store_.learn_redis_now(read->wrong_period.now_us);
    quota_periods(*call_->program, read->wrong_period.now_us, periods_);
    resend();
  }
  void failed(const StoreError& error) override { settle(std::unexpected(error)); }

  void settle(StoreResult<Outcome> result) {
    JudgeListener* listener = listener_;
    retire(store_.idle_judgements_, *this);
    listener->judged(std::move(result));
  }

  const Call* call_ = nullptr;
  JudgeListener* listener_ = nullptr;
  // The call was sent again with other periods, because Redis' time was outside the period of a quota.
  bool has_new_periods_ = false;
  std::array<PeriodBounds, kMaxLimitsPerPlan> periods_{};
};

// One script call of a release or renewal of leases. Each hash tag gets a call of its own, because the keys of two tags
// may be in different slots of a Redis Cluster.
class RedisStore::LeaseChange final : public Pending {
 public:
  using Pending::Pending;

  struct Whole {  // shared by the calls of one release or renewal
    LeaseListener* listener = nullptr;
    std::size_t open = 0;  // calls without an answer
    LeaseOutcome outcome;
    std::optional<StoreError> error;
  };
  void begin(Script script, std::vector<LeaseRef> leases, const Origin& origin, std::shared_ptr<Whole> whole) {
    script_ = script;
    leases_ = std::move(leases);
    whole_ = std::move(whole);
    start(script, origin);
  }

 private:
  std::string_view key() const override { return leases_[0].counter_key; }
  void write(redis::CommandWriter& out, CallBy by) override { write_leases(out, script_, leases_, by); }
  void answered(const redis::Reply& reply) override {
    auto read = reading([&] { return read_leases(reply, script_); });
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
    retire(store_.idle_lease_changes_, *this);
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

// Writes the overrides of a counter key, or resets the key.
class RedisStore::StateWrite final : public Pending {
 public:
  using Pending::Pending;
  using Write = std::function<void(redis::CommandWriter&, std::string_view counter_key, CallBy)>;

  void begin(Script script, std::string_view counter_key, Write write, OverrideListener& listener) {
    key_ = counter_key;
    write_ = std::move(write);
    listener_ = &listener;
    start(script, {.batch = true});
  }

 private:
  std::string_view key() const override { return key_; }
  void write(redis::CommandWriter& out, CallBy by) override { write_(out, key_, by); }
  void answered(const redis::Reply&) override { settle({}); }
  void failed(const StoreError& error) override { settle(std::unexpected(error)); }
  void settle(StoreResult<void> result) {
    OverrideListener* listener = listener_;
    retire(store_.idle_state_writes_, *this);
    listener->stored(result);
  }

  std::string key_;
  Write write_;
  OverrideListener* listener_ = nullptr;
};

RedisStore::RedisStore(redis::Client& client, const Clock& clock, RedisStoreObserver observer)
    : client_(client), clock_(clock), observer_(std::move(observer)) {}

RedisStore::~RedisStore() {
  in_flight_.clear_and_dispose([](InFlightHook* lost) { delete lost; });
}

// `begin(pending)` submits it. When the call ends, the PendingCall goes back to `idle`. If `begin` throws, the call was
// not submitted.
template <class PendingCall, class Begin>
void RedisStore::send(Pool<PendingCall>& idle, Begin begin) {
  PendingCall& pending = idle.take(*this);
  in_flight_.push_back(pending);
  try {
    begin(pending);
  } catch (...) {
    retire(idle, pending);
    throw;
  }
}

void RedisStore::judge(const Call& call, JudgeListener& listener) {
  send(idle_judgements_, [&](Judgement& pending) { pending.begin(call, listener); });
}

void RedisStore::judge_until(TimePoint deadline, const Call& call, JudgeListener& listener) {
  send(idle_judgements_, [&](Judgement& pending) { pending.begin(call, listener, deadline); });
}

void RedisStore::judge_all(std::span<const RulebookCall> calls) {
  const std::string_view tag = tag_of(calls[0].call->keys[0]);
  const auto joins = [&](const RulebookCall& each) { return each.enforced || tag_of(each.call->keys[0]) == tag; };
  if (std::ranges::count_if(calls, joins) > 1) {
    send(idle_joint_judgements_, [&](JointJudgement& joint) {
      joint.forget();
      for (const RulebookCall& each : calls) {
        if (joins(each)) joint.add(each);
      }
      joint.begin();
    });
  } else {
    judge(*calls[0].call, *calls[0].listener);
  }
  for (const RulebookCall& each : calls.subspan(1)) {
    if (!joins(each)) ask_or_answer({&each, 1}, [&] { judge(*each.call, *each.listener); });
  }
}

void RedisStore::judge_each(std::span<const RulebookCall> calls) {
  const std::size_t most = client_.in_cluster() ? 1 : kMostTogether;
  for (bool first = true; !calls.empty(); first = false) {
    const auto together = calls.first(std::min(calls.size(), most));
    calls = calls.subspan(together.size());
    if (first) {
      judge_together(together);
    } else {
      ask_or_answer(together, [&] { judge_together(together); });
    }
  }
}

void RedisStore::judge_together(std::span<const RulebookCall> calls) {
  if (calls.size() == 1) return judge(*calls[0].call, *calls[0].listener);
  send(idle_joint_judgements_, [&](JointJudgement& joint) {
    joint.forget();
    for (const RulebookCall& each : calls) joint.add(each);
    joint.begin();
  });
}

void RedisStore::learn_redis_now(std::int64_t now_us) { clock_ahead_us_ = now_us - clock_.now_us(); }

std::int64_t RedisStore::redis_now_us() const { return clock_.now_us() + clock_ahead_us_; }

void RedisStore::put_overrides(std::string_view counter_key, std::span<const OverrideEntry> entries,
                               OverrideListener& listener) {
  auto write = [kept = std::vector(entries.begin(), entries.end())](redis::CommandWriter& out, std::string_view key,
                                                                    CallBy by) { write_overrides(out, key, kept, by); };
  send(idle_state_writes_,
       [&](StateWrite& pending) { pending.begin(Script::overrides, counter_key, std::move(write), listener); });
}

void RedisStore::reset(std::string_view counter_key, std::span<const std::string> collections,
                       OverrideListener& listener) {
  auto write = [kept = std::vector(collections.begin(), collections.end())](
                   redis::CommandWriter& out, std::string_view key, CallBy by) { write_reset(out, key, kept, by); };
  send(idle_state_writes_,
       [&](StateWrite& pending) { pending.begin(Script::reset, counter_key, std::move(write), listener); });
}

void RedisStore::release(std::span<const LeaseRef> leases, const Origin& origin, LeaseListener& listener) {
  change_leases(Script::release, leases, origin, listener);
}

void RedisStore::renew(std::span<const LeaseRef> leases, const Origin& origin, LeaseListener& listener) {
  change_leases(Script::renew, leases, origin, listener);
}

void RedisStore::change_leases(Script script, std::span<const LeaseRef> leases, const Origin& origin,
                               LeaseListener& listener) {
  std::vector<std::vector<LeaseRef>> by_tag;
  for (const LeaseRef& lease : leases) {
    auto same = std::ranges::find_if(
        by_tag, [&](const auto& group) { return tag_of(group[0].counter_key) == tag_of(lease.counter_key); });
    if (same == by_tag.end())
      by_tag.push_back({lease});
    else
      same->push_back(lease);
  }
  auto whole = std::make_shared<LeaseChange::Whole>();
  whole->listener = &listener;
  whole->open = by_tag.size();
  for (std::size_t i = 0; i < by_tag.size(); ++i) {
    try {
      send(idle_lease_changes_,
           [&](LeaseChange& pending) { pending.begin(script, std::move(by_tag[i]), origin, whole); });
    } catch (const std::bad_alloc&) {
      if (i == 0) throw;
      whole->error = kNotAsked;
      --whole->open;
    }
  }
}

}  // namespace sluice::limiter
