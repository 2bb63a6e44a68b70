// What the documents say about one limit, written down a third time: slow, exact (128-bit integers) and without any
// formula for the times. It only knows whether a cost fits at an instant and whether nothing is spent at an instant;
// retry_after and reset_after are searched for with those two questions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/domain/decision.hpp"
#include "common/domain/plan.hpp"
#include "tests/integration/equivalence/meter.hpp"

namespace sluice::test {

class Reference {
 public:
  // REQUIRES: numbers that the APIs accept.
  Reference(const Limit& limit, std::optional<Micros> max_delay);

  // `member` names the lease an admitted call takes.
  LimitReport judge(std::int64_t cost, std::int64_t now, const std::string& member);
  // The same while an override replaces the window: `overridden` has its numbers, those for one window always the same.
  // REQUIRES: a limit with a window, and a clock that never steps back.
  LimitReport judge_overridden(const Limit& overridden, std::int64_t cost, std::int64_t now);
  bool release(const std::string& member, std::int64_t now);
  std::int64_t renew(const std::string& member, std::int64_t now);  // 0: not live
  // The store looks whether the state's time to live is over. It does so by itself with every call.
  void expire(std::int64_t now);

 private:
  void live_for(std::int64_t us, std::int64_t now);

  const std::int64_t limit_;
  const bool keeps_entries_;  // a log, leases: else a state that knows the time of its last charge
  std::unique_ptr<Meter> meter_;
  std::map<Micros, std::unique_ptr<Meter>> overrides_;  // by window
  std::int64_t last_charge_ = 0;
  std::optional<std::int64_t> expires_ms_;
};

}  // namespace sluice::test
