// Answers questions of what-if: compiles the edited policy into the policies in force, and judges the recorded checks
// by them. A thread of its own does that, behind all others when CPUs are busy.
//
// Thread safety: answer_question() is a pure function of its arguments. QuestionJudge: its owner's thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "common/base/clock.hpp"
#include "common/policy/snapshot.hpp"
#include "common/sync/scope_state.hpp"
#include "common/sync/whatif.hpp"
#include "engine/whatif/recording.hpp"

namespace sluice::policies {

// `state`: the objects from which `in_force` was compiled.
sync::WhatIfAnswer answer_question(const sync::WhatIfQuestion& question, const policy::Snapshot& in_force,
                                   const sync::ScopeState& state, const whatif::Recording& recording,
                                   std::int64_t now_us);

class QuestionJudge {
 public:
  static constexpr std::size_t kMaxWaiting = 8;  // questions

  struct Question {
    sync::WhatIfQuestion asked;
    std::shared_ptr<const policy::Snapshot> in_force;
    sync::ScopeState state;
    std::function<void(sync::WhatIfAnswer answer)> done;  // called on the judge's thread
  };

  QuestionJudge(const whatif::Recording& recording, const Clock& clock) : recording_(recording), clock_(clock) {}
  ~QuestionJudge() { stop(); }

  // Answers at once, with a failure, if too many questions wait.
  void ask(Question question);
  void stop();  // drops the questions that wait, then joins the thread

 private:
  void run();

  const whatif::Recording& recording_;
  const Clock& clock_;
  std::mutex mutex_;  // guards the members below, except thread_
  std::condition_variable changed_;
  std::deque<Question> waiting_;
  bool stopping_ = false;
  std::jthread thread_;  // begins with the first question
};

}  // namespace sluice::policies
