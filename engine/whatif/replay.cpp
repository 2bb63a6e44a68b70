#include "engine/whatif/replay.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/limiter/memory_store.hpp"
#include "common/policy/selection.hpp"
#include "common/telemetry/decision_log.hpp"
#include "engine/decide/decision.hpp"
#include "engine/decide/limit_override.hpp"

namespace sluice::whatif {
namespace {

using policy::Selection;
using sync::WhatIfOutcome;

constexpr std::size_t kMaxCounterBytes = std::size_t{256} << 20;

class RecordedClock final : public Clock {
 public:
  std::int64_t now_us() const override { return now_us_; }
  void set(std::int64_t now_us) { now_us_ = now_us; }

 private:
  std::int64_t now_us_ = 0;
};

struct Answers final : limiter::JudgeListener {
  explicit Answers(limiter::StoreResult<limiter::Outcome>& its_outcome) : outcome(its_outcome) {}
  void judged(limiter::StoreResult<limiter::Outcome>&& result) override { outcome = std::move(result); }
  limiter::StoreResult<limiter::Outcome>& outcome;
};

bool waits(const CheckRequest& request, const decide::Judgement& judgement) {
  if (!judgement.outcome) return false;
  const auto next = decide::next_try(judgement);
  return next && next->after <= decide::patience_of(request, judgement);
}

class Replay {
 public:
  Replay(const policy::Snapshot& snapshot, const policy::TenantView& tenant, std::string_view policy_id)
      : snapshot_(snapshot), tenant_(tenant), policy_id_(policy_id) {}

  void judge(const char* record) {
    const RecordHead head = read_head(record);
    read_request(record, request_);
    clock_.set(head.at_us);
    count(head, outcome_of(head));
  }

  sync::WhatIfAnswer answer() {
    sync::WhatIfAnswer answer;
    answer.short_of_memory = counters_.overflowed() + counters_.refused() > 0;
    for (const auto& [minute, counts] : minutes_) {
      answer.minutes.push_back({.begin_us = minute * sync::kMinuteUs, .counts = counts});
    }
    answer.subjects = foremost_subjects();
    return answer;
  }

 private:
  WhatIfOutcome outcome_of(const RecordHead& head) {
    const Selection selection = policy::select(snapshot_, tenant_, {}, request_, head.at_us);
    const policy::Rulebook* const first = selection.primary();
    if (first == nullptr || !first->is_policy || first->owner_id != policy_id_) return WhatIfOutcome::not_matched;
    if (selection.kind == Selection::Kind::missing_dimension) return WhatIfOutcome::refused;
    if (selection.kind != Selection::Kind::rulebooks) return WhatIfOutcome::not_matched;
    if (!request_.limit_override.empty() && !decide::limit_faults(selection, request_).empty())
      return WhatIfOutcome::refused;
    return judged_by(selection, head);
  }

  // A shadow beside the policy decides nothing, so only the first rulebook is judged.
  WhatIfOutcome judged_by(const Selection& selection, const RecordHead& head) {
    decide::Judgement judgement;
    judgement.rulebook = selection.rulebooks.front().rulebook;
    judgement.role = selection.rulebooks.front().role;
    judgement.pattern = selection.rulebooks.front().pattern;
    judgement.call.keys = std::move(keys_);
    judgement.call.origin.batch = head.batch;
    decide::prepare_call(tenant_, request_, judgement);
    if (!request_.limit_override.empty()) decide::bring_limits(request_, judgement);
    Answers listener(judgement.outcome);
    store_.judge(judgement.call, listener);
    const Decision decision = decide::make_decision(selection, request_, {&judgement, 1});
    const bool held = !decision.allowed && waits(request_, judgement);
    keys_ = std::move(judgement.call.keys);
    // Where the tenant's mode is shadow, nothing is enforced; the question is what would be.
    if (decision.shadow ? decision.would_allow : decision.allowed) return WhatIfOutcome::admitted;
    return held ? WhatIfOutcome::held : WhatIfOutcome::denied;
  }

  void count(const RecordHead& head, WhatIfOutcome outcome) {
    sync::WhatIfCounts& counts = minutes_[head.at_us / sync::kMinuteUs];
    ++counts[outcome];
    if (outcome == WhatIfOutcome::not_matched) return;
    if (!head.allowed) ++counts.denied_before;
    const bool denied = outcome == WhatIfOutcome::denied;
    if (head.allowed && denied) ++counts.newly_denied;
    count_subject(outcome);
  }

  void count_subject(WhatIfOutcome outcome) {
    const Value* const subject = request_.find({Dimension::subject, ""});
    if (subject == nullptr) return;
    SubjectCounts& counts = subjects_[subject->text];
    if (outcome == WhatIfOutcome::admitted) ++counts.admitted;
    if (outcome == WhatIfOutcome::denied) ++counts.denied;
  }

  std::vector<sync::WhatIfSubject> foremost_subjects() const {
    const policy::CompiledPolicy* const policy = tenant_.policies.find(policy_id_);
    const ReportSubjects how = policy == nullptr ? ReportSubjects::off : policy->rulebook.report_subjects;
    if (how == ReportSubjects::off) return {};
    std::vector<std::pair<std::string_view, SubjectCounts>> all(subjects_.begin(), subjects_.end());
    const auto kept = std::min(all.size(), sync::kMaxWhatIfSubjects);
    std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(kept), [](const auto& a, const auto& b) {
      if (a.second.denied != b.second.denied) return a.second.denied > b.second.denied;
      if (a.second.admitted != b.second.admitted) return a.second.admitted > b.second.admitted;
      return a.first < b.first;
    });
    std::vector<sync::WhatIfSubject> foremost;
    for (const auto& [subject, counts] : std::span(all).first(kept)) {
      foremost.push_back({.subject = how == ReportSubjects::named
                                         ? std::string(subject)
                                         : "sha256:" + telemetry::subject_hash(tenant_.tenant.id, subject),
                          .admitted = counts.admitted,
                          .denied = counts.denied});
    }
    return foremost;
  }

  struct SubjectCounts {
    std::int64_t admitted = 0;
    std::int64_t denied = 0;
  };

  const policy::Snapshot& snapshot_;
  const policy::TenantView& tenant_;
  const std::string_view policy_id_;
  RecordedClock clock_;
  limiter::MemoryCounters counters_{clock_, 1, kMaxCounterBytes, limiter::MemoryCounters::UsedBy::one_thread};
  limiter::MemoryStore store_{counters_};
  CheckRequest request_;
  std::vector<std::string> keys_;  // the memory of Call::keys, used again
  std::map<std::int64_t, sync::WhatIfCounts> minutes_;
  std::unordered_map<std::string_view, SubjectCounts> subjects_;  // the names lie in the records
};

}  // namespace

sync::WhatIfAnswer replay(const policy::Snapshot& snapshot, const policy::TenantView& tenant,
                          std::string_view policy_id, const RecordedChecks& checks) {
  Replay run(snapshot, tenant, policy_id);
  for (const char* const record : checks.records) run.judge(record);
  sync::WhatIfAnswer answer = run.answer();
  answer.fallen = checks.fallen;
  answer.complete_since_us = checks.complete_since_us;
  return answer;
}

}  // namespace sluice::whatif
