// Takes one request from its message to its response, for a front end of any protocol.
//
//   start() ── find rules ── replaced, unlimited ── counters ── counter store ── response
//
// Each judged descriptor is a rulebook with one limit, a fixed window aligned to the epoch. Per descriptor, the counter
// store judges each of them by itself, in their order. Atomic, it judges them together, and charges all or none. A
// descriptor in shadow_mode or quota_mode never keeps the others from being charged: it is judged by itself in either
// case.
//
// Thread: one worker's. A Call is reused and keeps its memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "agent/rls/message.hpp"
#include "agent/rls/service.hpp"
#include "common/rls_config/find_rule.hpp"

namespace sluice::agent::rls {

// One of the functions is called, once, possibly before Call::start() returns. The arguments are valid during the call.
class Listener {
 public:
  virtual void answered(const Response& response) = 0;
  virtual void refused(const Refusal& refusal) = 0;

 protected:
  ~Listener() = default;
};

// What a response needs of a limiter::Outcome.
struct Judged {
  bool allowed = false;
  std::int64_t now_us = 0;
  std::uint32_t remaining = 0;
};

class Call {
 public:
  explicit Call(Service& service) : service_(service) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // `request` must stay valid until the listener is called. From then on start() may be called again. `span`: that of
  // the request; empty if it is not traced.
  void start(const Request& request, Listener& listener, const tracing::ActiveSpan& span = {});

 private:
  static constexpr std::size_t kNotJudged = static_cast<std::size_t>(-1);

  // One descriptor of the request.
  struct Line {
    rls_config::Match match;
    const rls_config::Rule* rule = nullptr;
    CurrentLimit limit;
    bool is_limited = false;
    bool is_unlimited = false;
    std::uint64_t hits = 0;
    std::size_t judgement = kNotJudged;  // index into judgements_
  };
  // One counter. In atomic mode equal descriptors have one together.
  struct Judgement {
    std::shared_ptr<const limiter::Program> program;  // of the limit that follows; nullptr: none yet
    std::uint32_t requests_per_unit = 0;
    rls_config::Unit unit = rls_config::Unit::second;
    limiter::Call call;
    std::uint64_t hits = 0;
    bool enforced = false;
    limiter::StoreResult<Judged> outcome;
  };
  struct StoreAnswer final : limiter::JudgeListener {
    StoreAnswer(Call& owner, std::size_t at) : call(owner), index(at) {}
    void judged(limiter::StoreResult<limiter::Outcome>&& outcome) override;
    Call& call;
    const std::size_t index;
  };

  void decide();
  std::string fault_of_request() const;
  bool enter();
  void find_rules();
  void find_rule(const rls_config::Node* domain, std::size_t index);
  void drop_replaced();
  bool add_judgements();
  Judgement& judgement_of(Line& line, const Descriptor& descriptor);
  bool take_redis_time() const;
  void ask_store();
  void on_all_outcomes();
  const limiter::StoreError* store_error() const;
  DescriptorVerdict verdict_of(std::size_t index, DescriptorTally& tally);
  void count_hits(const Line& line, const Descriptor& descriptor, const Judged& outcome);
  RuleSeries& series_of(const Line& line, const Descriptor& descriptor);
  void answer();
  void refuse(Refusal::Kind kind, std::string text);
  void end_without_memory();

  Service& service_;
  const Request* request_ = nullptr;
  Listener* listener_ = nullptr;
  std::chrono::steady_clock::time_point started_;
  InForce in_force_;
  decide::InFlight::Place place_;
  decide::CheckSpans spans_;
  std::vector<Line> lines_;  // by descriptor; more than that are left from former requests

  // The vectors must not grow while an outcome is missing, because the store has pointers into them.
  std::vector<Judgement> judgements_;
  std::vector<StoreAnswer> answers_;
  std::vector<limiter::RulebookCall> calls_;
  std::size_t judgement_count_ = 0;  // elements in use
  std::size_t open_ = 0;             // outcomes that are still missing
  bool ended_ = false;               // for lack of memory; further outcomes are ignored
  std::string counter_head_;         // of the request's domain

  // Scratch.
  std::vector<DescriptorVerdict> verdicts_;
  std::string name_;
};

}  // namespace sluice::agent::rls
