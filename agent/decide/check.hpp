// One check on its way from a request to a decision. It knows no protocol: a front end reads the request and writes the
// answer.
//
// Thread: one worker's. A check is used again and again and keeps its memory: in the steady state a decision allocates
// nothing here.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>
#include <vector>

#include "agent/decide/decider.hpp"

namespace sluice::agent::decide {

// The front end's side of a check: one of these is called exactly once, possibly before Check::start() returns. What it
// is given is valid during the call. `slot` is the one that start() was given.
class CheckListener {
 public:
  virtual void decided(std::size_t slot, const Decision& decision) = 0;
  virtual void refused(std::size_t slot, const Refusal& refusal) = 0;

 protected:
  ~CheckListener() = default;
};

class Check {
 public:
  explicit Check(Decider& decider) : decider_(decider) {}
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  // Decides `request`; org, tenant and api_key are filled into it. Request, caller and traceparent stay until the
  // listener was called; then the check may be started anew. `place`: from Decider::admit().
  void start(InFlight::Place place, const Caller& caller, CheckRequest& request, std::string_view traceparent,
             CheckListener& listener, std::size_t slot = 0);

 private:
  // Takes the counter store's answer to one of the judgements.
  struct StoreAnswer final : limiter::JudgeListener {
    StoreAnswer(Check& its_check, std::size_t its_judgement) : check(its_check), judgement(its_judgement) {}
    void judged(const limiter::StoreResult<limiter::Outcome>& outcome) override;
    Check& check;
    const std::size_t judgement;
  };

  void judge();
  void make_room(std::size_t judgements);
  void conclude_judged();
  void answer(const Decision& decision);
  void refuse(Refusal refusal);
  std::span<const Judgement> judgements() const { return {judgements_.data(), judging_}; }

  Decider& decider_;
  std::chrono::steady_clock::time_point started_;
  InFlight::Place place_;
  const Caller* caller_ = nullptr;
  CheckRequest* request_ = nullptr;
  std::string_view traceparent_;
  CheckListener* listener_ = nullptr;
  std::size_t slot_ = 0;
  policy::Selection selection_;  // points into the snapshot

  // By rulebook of the selection. They only grow, and not while the store has an answer open.
  std::vector<Judgement> judgements_;
  std::vector<StoreAnswer> answers_;
  std::vector<limiter::RulebookCall> calls_;
  std::size_t judging_ = 0;  // how many of them this check uses
  std::size_t open_ = 0;     // answers of the store that are not there yet
};

}  // namespace sluice::agent::decide
