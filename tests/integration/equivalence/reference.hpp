// What the documents say about one limit, written down a third time: slow, exact (128-bit integers) and without any
// formula for the times. It only knows whether a cost fits at an instant and whether nothing is spent at an instant;
// retry_after and reset_after are searched for with those two questions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/domain/decision.hpp"
#include "common/domain/plan.hpp"

namespace sluice::test {

// The state of one limit. Instants are µs since the epoch; `at` is never before the last `settle`.
class Meter {
 public:
  virtual ~Meter() = default;
  // The clock says `now`, perhaps earlier than before: what is stored ahead of it counts as now's, and what is too far
  // ahead is gone. Says whether leases went.
  virtual bool settle(std::int64_t now) = 0;
  virtual bool fits(std::int64_t cost, std::int64_t at) const = 0;
  virtual bool untouched(std::int64_t at) const = 0;
  virtual std::int64_t left(std::int64_t at) const = 0;  // may be below 0
  virtual void charge(std::int64_t cost, std::int64_t now) = 0;
  virtual void forget() = 0;

  // How long this admitted call is to be delayed, with what was there before it and after it.
  virtual std::int64_t delay_before_charge(std::int64_t) const { return 0; }
  virtual std::int64_t delay_after_charge(std::int64_t) const { return 0; }

  // Leases only.
  virtual bool release(const std::string&, std::int64_t) { return false; }
  virtual std::int64_t renew(const std::string&, std::int64_t) { return 0; }  // its new expiry
  virtual void name_next(const std::string&) {}                               // the member that the next charge takes
};

class Reference {
 public:
  // REQUIRES: numbers that the APIs accept.
  Reference(const Limit& limit, std::optional<Micros> max_delay);

  // `member` names the lease an admitted call takes.
  LimitReport judge(std::int64_t cost, std::int64_t now, const std::string& member);
  bool release(const std::string& member, std::int64_t now);
  std::int64_t renew(const std::string& member, std::int64_t now);  // 0: not live
  // The store looks whether the state's time to live is over. It does so by itself with every call.
  void expire(std::int64_t now);

 private:
  std::int64_t reset_after(std::int64_t now) const;
  void live_for(std::int64_t us, std::int64_t now);

  const std::int64_t limit_;
  const bool keeps_entries_;  // a log, leases: else a state that knows the time of its last charge
  std::unique_ptr<Meter> meter_;
  std::int64_t last_charge_ = 0;
  std::optional<std::int64_t> expires_ms_;
};

}  // namespace sluice::test
