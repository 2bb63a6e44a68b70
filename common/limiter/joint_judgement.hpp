// Several rulebooks that one script call judges.
//
// Thread: the store's. For the files of RedisStore only.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/limiter/pending_call.hpp"

namespace sluice::limiter {

class RedisStore::JointJudgement final : public Pending {
 public:
  using Pending::Pending;

  // REQUIRES: as judge_all(), and all calls share a hash tag.
  void add(const RulebookCall& call) { calls_.push_back(call); }
  void begin();

 private:
  void find_periods(std::int64_t now_us);
  std::string_view key() const override { return calls_[0].call->keys[0]; }
  void write(redis::CommandWriter& out, CallBy by) override;
  void answered(const redis::Reply& reply) override;
  void tell_failure(const RulebookCall& call, const StoreError& error);
  bool split() override;
  void failed(const StoreError& error) override;
  void rest();

  std::vector<RulebookCall> calls_;
  std::vector<std::array<PeriodBounds, kMaxLimitsPerPlan>> periods_;  // by call
  std::vector<CheckPart> parts_;                                      // a member to reuse memory
  bool turned_ = false;                                               // sent again with other periods
};

}  // namespace sluice::limiter
