#include "engine/policies/question_judge.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <exception>
#include <utility>
#include <vector>

#include "engine/policies/server_snapshot.hpp"
#include "engine/whatif/replay.hpp"

namespace sluice::policies {
namespace {

constexpr int kJudgeNiceness = 15;  // behind the workers, and behind policy sync

sync::WhatIfAnswer failed(std::string text) {
  return {.question_id = {}, .status = sync::WhatIfStatus::failed, .text = std::move(text)};
}

CompiledState compile_edited(const sync::WhatIfQuestion& question, const policy::Snapshot& in_force,
                             const sync::ScopeState& state, std::int64_t now_us) {
  const ObjectIdView id{.kind = Kind::policy, .tenant_id = question.tenant_id, .id = question.policy_id};
  sync::Applied edited;
  edited.state.head = state.head;
  edited.state.objects = state.objects.with({sync::make_object(id, question.policy)}, &edited.changes);
  sync::NewerFields newer;
  return compile_next(in_force, edited, now_us, newer);
}

sync::WhatIfAnswer judge(const sync::WhatIfQuestion& question, const policy::Snapshot& in_force,
                         const sync::ScopeState& state, const whatif::Recording& recording, std::int64_t now_us) {
  const auto checks = recording.of(question.tenant_id, question.from_us, question.to_us);
  if (!checks) return {.question_id = {}, .status = sync::WhatIfStatus::not_recorded};
  const auto edited = compile_edited(question, in_force, state, now_us);
  if (!edited) return failed(edited.error().empty() ? "the policy is invalid" : edited.error().front().text);
  const policy::TenantView* const tenant = (*edited)->tenants.find(question.tenant_id);
  const policy::CompiledPolicy* const policy = tenant == nullptr ? nullptr : tenant->policies.find(question.policy_id);
  if (policy == nullptr) return failed("the agent does not have this tenant");
  // When a lease ends is not recorded.
  if (policy->rulebook.program->leases > 0) return failed("a limit of concurrency cannot be judged");
  return whatif::replay(**edited, *tenant, question.policy_id, *checks);
}

}  // namespace

sync::WhatIfAnswer answer_question(const sync::WhatIfQuestion& question, const policy::Snapshot& in_force,
                                   const sync::ScopeState& state, const whatif::Recording& recording,
                                   std::int64_t now_us) {
  sync::WhatIfAnswer answer = judge(question, in_force, state, recording, now_us);
  answer.question_id = question.id;
  return answer;
}

void QuestionJudge::ask(Question question) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    if (waiting_.size() < kMaxWaiting) {
      waiting_.push_back(std::move(question));
      if (!thread_.joinable()) thread_ = std::jthread([this] { run(); });
      changed_.notify_one();
      return;
    }
  }
  sync::WhatIfAnswer busy = failed("the agent has too many questions to answer");
  busy.question_id = question.asked.id;
  question.done(std::move(busy));
}

void QuestionJudge::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    waiting_.clear();
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void QuestionJudge::run() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kJudgeNiceness);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    const Question question = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    try {
      question.done(answer_question(question.asked, *question.in_force, question.state, recording_, clock_.now_us()));
    } catch (const std::exception& error) {  // no memory for the copy of the records
      sync::WhatIfAnswer answer = failed(error.what());
      answer.question_id = question.asked.id;
      question.done(std::move(answer));
    }
    lock.lock();
  }
}

}  // namespace sluice::policies
