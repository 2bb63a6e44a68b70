// Takes one check from its request to its decision, for a front end (agent/api) of any protocol.
//
// Thread: one worker's. A Check is reused and keeps its memory: in the steady state it allocates nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/decide/check_spans.hpp"
#include "engine/decide/decider.hpp"

namespace sluice::decide {

// For each check one of the functions is called, once, possibly before Check::start() returns. The arguments are valid
// during the call only. `slot` is the number passed to start().
class CheckListener {
 public:
  virtual void decided(std::size_t slot, const Decision& decision) = 0;
  virtual void refused(std::size_t slot, const Refusal& refusal) = 0;
  // The check is held now. Returns false if the caller has left; then decided() was called. Checks of a batch are never
  // held.
  virtual bool wait_begins(std::size_t /*slot*/) { return true; }

 protected:
  ~CheckListener() = default;
};

class Check {
 public:
  explicit Check(Decider& decider) : decider_(decider) {}
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  // Also fills in the request's dimensions org, tenant and api_key. `caller`, `request` and the texts of
  // `trace` must stay valid until the listener is called. From then on start() may be called again.
  // Throws nothing: if an allocation fails, also one in the listener, the listener gets Refusal::Kind::out_of_memory.
  // It must not throw then.
  void start(InFlight::Place place, const Caller& caller, const limiter::Origin& origin, CheckRequest& request,
             const CheckTrace& trace, CheckListener& listener, std::size_t slot = 0);

  // The caller has left: a check that is held is denied now. One that asks the store just now is not held again.
  void abandon();

 private:
  struct StoreAnswer final : limiter::JudgeListener {
    StoreAnswer(Check& owner, std::size_t at) : check(owner), index(at) {}
    void judged(limiter::StoreResult<limiter::Outcome>&& outcome) override;
    Check& check;
    const std::size_t index;
  };

  struct Guest final : WaitingRoom::Guest {
    explicit Guest(Check& owner) : check(owner) {}
    void try_again(bool last) override { check.ask_again(last); }
    void give_up(WaitOutcome outcome, const WaitingRoom::Denial& denial) override { check.give_up(outcome, denial); }
    Check& check;
  };

  InFlight::Caller caller_of(const limiter::Origin& origin) const;
  bool claim_place(const limiter::Origin& origin);
  void select(const limiter::Origin& origin);
  bool accept_limits();
  void send_to_store(const limiter::Origin& origin);
  void ask_store(std::size_t judgements);
  void reserve(std::size_t judgements);
  void on_all_outcomes();
  Decision decide();
  void answer(Decision&& decision);
  WaitingRoom::Seat seat() const;
  bool stand_in_line();
  bool hold(const Decision& decision);
  void begin_wait(WaitingRoom::Time now);
  void ask_again(bool last);
  void give_up(WaitOutcome outcome, const WaitingRoom::Denial& denial);
  Decision denied_as(const WaitingRoom::Denial& denial);
  void end_wait(Decision& decision);
  bool take_redis_time(const limiter::Origin& origin);
  void refuse_for(OverloadCause cause);
  void refuse_plan();
  void refuse(Refusal refusal);
  void end_without_memory();
  std::span<const Judgement> judgements() const { return {judgements_.data(), judgement_count_}; }

  Decider& decider_;
  std::chrono::steady_clock::time_point started_;
  InFlight::Place place_;
  const Caller* caller_ = nullptr;
  CheckRequest* request_ = nullptr;
  std::string_view traceparent_;
  CheckSpans spans_;
  CheckListener* listener_ = nullptr;
  std::size_t slot_ = 0;
  policy::Selection selection_;  // points into the snapshot

  // One element for each rulebook of the selection. The vectors must not grow while an outcome is missing, because
  // the store has pointers into them.
  std::vector<Judgement> judgements_;
  std::vector<StoreAnswer> answers_;
  std::vector<limiter::RulebookCall> calls_;
  std::size_t judgement_count_ = 0;                        // elements in use
  std::size_t open_ = 0;                                   // outcomes that are still missing
  OverloadCause overload_ = OverloadCause::counter_store;  // if the decision's reason is overload
  bool counted_ = false;                                   // the observer has the decision
  bool ended_ = false;                                     // for lack of memory; further outcomes are ignored

  Guest guest_{*this};
  bool held_ = false;       // it is in the waiting room, or was
  bool judged_ = false;     // the store has answered
  bool asks_last_ = false;  // it is not held again
  bool caller_left_ = false;
  std::optional<WaitOutcome> wait_outcome_;
  WaitingRoom::Time held_since_;
  WaitingRoom::Time denied_at_;  // when the store answered last
};

}  // namespace sluice::decide
