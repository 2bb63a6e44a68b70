#include "common/limiter/joint_judgement.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "common/limiter/memory_judge.hpp"

namespace sluice::limiter {
namespace {

StoreResult<CheckReply> read_part(const redis::Reply& reply, const Call& call, bool together) {
  if (reply.is_error()) return std::unexpected(classify_error(reply));
  return read_check(reply, call, together);
}

}  // namespace

void RedisStore::JointJudgement::begin() {
  has_new_periods_ = false;
  find_periods(store_.redis_now_us());
  start(Script::check_many, calls_[0].call->origin);
}

void RedisStore::JointJudgement::find_periods(std::int64_t now_us) {
  periods_.resize(calls_.size());
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const Program& program = *calls_[i].call->program;
    if (program.has_quotas) quota_periods(program, now_us, periods_[i]);
  }
}

void RedisStore::JointJudgement::write(redis::CommandWriter& out, CallBy by) {
  parts_.clear();
  for (std::size_t i = 0; i < calls_.size(); ++i) parts_.push_back({calls_[i].call, periods_[i]});
  write_check_many(out, parts_, enforced_count(calls_), by);
}

// Rulebooks that got WrongPeriod (script_calls.hpp) are judged once more. Either all enforced rulebooks get WrongPeriod
// or none does, so they stay together.
void RedisStore::JointJudgement::answered(const redis::Reply& reply) {
  if (reply.elements.size() != calls_.size()) return fail({StoreFault::protocol, true});
  const std::size_t enforced = enforced_count(calls_);
  std::size_t again = 0;  // calls_[0, again) are judged once more
  std::int64_t now_us = 0;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    StoreResult<CheckReply> read =
        reading([&] { return read_part(reply.elements[i], *calls_[i].call, i < enforced && enforced > 1); });
    if (read && !read->outcome && !has_new_periods_) {
      now_us = read->wrong_period.now_us;
      calls_[again++] = calls_[i];
    } else if (read && read->outcome) {
      calls_[i].listener->judged(*std::move(read->outcome));
    } else {
      report_failure(calls_[i], read ? StoreError{StoreFault::clock, false} : read.error());
    }
  }
  calls_.resize(again);
  if (again == 0) return become_idle();
  has_new_periods_ = true;
  store_.learn_redis_now(now_us);
  find_periods(now_us);
  resend();
}

void RedisStore::JointJudgement::report_failure(const RulebookCall& call, const StoreError& error) {
  if (store_.observer_.failed) store_.observer_.failed(error.fault);
  call.listener->judged(std::unexpected(error));
}

// Keeps the enforced rulebooks; if none is enforced, keeps the first. Every other rulebook gets a call of its own.
bool RedisStore::JointJudgement::split() {
  const std::size_t kept = std::max<std::size_t>(1, enforced_count(calls_));
  if (kept == calls_.size()) return false;
  for (const RulebookCall& shadow : std::span(calls_).subspan(kept)) {
    ask_or_answer({&shadow, 1}, [&] { store_.judge_until(answer_by(), *shadow.call, *shadow.listener); });
  }
  calls_.resize(kept);
  resend();
  return true;
}

void RedisStore::JointJudgement::failed(const StoreError& error) {
  for (const RulebookCall& each : calls_) each.listener->judged(std::unexpected(error));
  become_idle();
}

void RedisStore::JointJudgement::become_idle() {
  forget();
  retire(store_.idle_joint_judgements_, *this);
}

}  // namespace sluice::limiter
