// One check on its way: body → CheckRequest → … → Decision, around the pure arrows of decision.hpp.
//
// Thread: one worker's. Checks are reused: in the steady state a decision allocates nothing here.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "agent/decide/decision.hpp"
#include "agent/usage/usage.hpp"
#include "common/base/clock.hpp"
#include "common/domain/check_request.hpp"
#include "common/http/problem.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/telemetry/decision_log.hpp"
#include "common/telemetry/metrics.hpp"

namespace sluice::agent::decide {

// Where decisions of one policy, or of a tenant without one, are counted.
struct DecisionCounts {
  telemetry::DecisionCounters* metrics = nullptr;
  usage::UsageCounters* usage = nullptr;  // none where nobody asks for it
};

// What the checks of a worker share.
class CheckContext {
 public:
  // `policy_label`: decisions are counted by policy in metrics. `in_flight`: decisions being made, of all workers.
  // `its_usage`: of this worker, where there is a server to report it to.
  CheckContext(limiter::CounterStore& its_store, const Clock& its_clock, telemetry::Metrics& its_metrics,
               telemetry::DecisionLog& its_log, std::atomic<std::size_t>& in_flight, std::size_t max_in_flight,
               bool policy_label, usage::WorkerUsage* its_usage = nullptr)
      : store(its_store),
        clock(its_clock),
        metrics(its_metrics),
        log(its_log),
        usage(its_usage),
        in_flight_(in_flight),
        max_in_flight_(max_in_flight),
        policy_label_(policy_label) {}

  limiter::CounterStore& store;
  const Clock& clock;
  telemetry::Metrics& metrics;
  telemetry::DecisionLog& log;
  usage::WorkerUsage* const usage;

  // A place among those in flight; false: there is none. A check needs one, and gives it back.
  bool enter();
  void leave() { in_flight_.fetch_sub(1, std::memory_order_relaxed); }

  // A decision without a judgement, counted: overload, no_snapshot.
  Decision unjudged(Reason reason, bool allowed);

  // The counters, looked up by name once for each snapshot.
  DecisionCounts counters(const policy::TenantView& tenant, const policy::Rulebook* rulebook);
  void forget_counters();  // another snapshot is in force

 private:
  std::atomic<std::size_t>& in_flight_;
  const std::size_t max_in_flight_;
  const bool policy_label_;
  boost::unordered_flat_map<const void*, DecisionCounts> counters_;  // of this snapshot's tenants or rulebooks
  telemetry::DecisionCounters* unjudged_ = nullptr;
};

// On whose behalf a check is made; all of it outlives the check.
struct Caller {
  const policy::Snapshot* snapshot = nullptr;
  const policy::KeyView* key = nullptr;
  std::string_view traceparent;
};

// Told of each check exactly once, by either; possibly before start() returns. What is told is valid during the call.
class CheckListener {
 public:
  // `slot`: as start() was given it.
  virtual void decided(std::size_t slot, const Decision& decision) = 0;
  // Not a check, or not one that can be judged; pointers are those of the check alone.
  virtual void refused(std::size_t slot, const http::Problem& problem) = 0;

 protected:
  ~CheckListener() = default;
};

class Check {
 public:
  explicit Check(CheckContext& context) : context_(context) {}
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  // Decides `body`, which is parsed in place and stays until the listener was told; then the check may be started anew.
  // REQUIRES: CheckContext::enter().
  void start(std::span<char> body, const Caller& caller, CheckListener& listener, std::size_t slot);

 private:
  // Told of one of the two judgements: the deciding one and the shadow's beside it.
  struct Judged final : limiter::JudgeListener {
    explicit Judged(Check& its_check) : check(its_check) {}
    void judged(const limiter::StoreResult<limiter::Outcome>& result) override {
      outcome = result;
      check.judged();
    }
    Check& check;
    limiter::Call call;
    limiter::StoreResult<limiter::Outcome> outcome;
  };

  void judge();
  void judged();
  std::string take_leases(Decision& decision);
  void answer(const Decision& decision);
  void count_usage(const Decision& decision, usage::UsageCounters& counters);
  void log(const Decision& decision);
  void refuse(const std::vector<RequestFault>& faults);
  void refuse(unsigned status, std::string_view detail, const Faults& errors);

  CheckContext& context_;
  std::chrono::steady_clock::time_point started_;
  Caller caller_;
  const policy::TenantView* tenant_ = nullptr;  // the caller's
  CheckListener* listener_ = nullptr;
  std::size_t slot_ = 0;
  CheckRequest request_;  // points into the body
  Course course_;         // points into the snapshot
  int open_ = 0;          // judgements not told yet
  Judged decided_{*this};
  Judged shadowed_{*this};
};

}  // namespace sluice::agent::decide
