// One call of check_many.lua in flight: it judges several rulebooks, of one decision or each by itself.
//
// Thread: that of the store.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/limiter/pending_call.hpp"

namespace sluice::limiter {

class RedisStore::JointJudgement final : public Pending {
 public:
  using Pending::Pending;

  // REQUIRES: the enforced calls come first, and in a Cluster the keys of all calls share a hash tag.
  void add(const RulebookCall& call) { calls_.push_back(call); }
  void forget() { calls_.clear(); }  // what was added
  void begin();

 private:
  void find_periods(std::int64_t now_us);
  std::string_view key() const override { return calls_[0].call->keys[0]; }
  void write(redis::CommandWriter& out, CallBy by) override;
  void answered(const redis::Reply& reply) override;
  void report_failure(const RulebookCall& call, const StoreError& error);
  bool split() override;
  void failed(const StoreError& error) override;
  void become_idle();

  std::vector<RulebookCall> calls_;
  std::vector<std::array<PeriodBounds, kMaxLimitsPerPlan>> periods_;  // periods_[i] is for the quotas of calls_[i]
  std::vector<CheckPart> parts_;                                      // a member only to reuse its memory
  // The call was sent again with other periods, because Redis' time was outside the period of a quota.
  bool has_new_periods_ = false;
};

}  // namespace sluice::limiter
