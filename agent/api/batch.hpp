// Answers one batch of checks. Each check gets a result of its own: a decision or a problem.
//
// All checks start in one turn of the event loop, so that they go to Redis in one write. `slot` is the index of a check
// in the batch.
// Thread: one worker's. Batches are pooled: in the steady state they allocate nothing.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/api/api_replies.hpp"
#include "agent/api/check_problems.hpp"
#include "common/base/pool.hpp"
#include "engine/decide/check.hpp"

namespace sluice::agent::api {

class Batch final : public decide::CheckListener {
 public:
  Batch(decide::Decider& decider, Pool<Batch>& pool) : decider_(decider), pool_(pool) {}

  // Sends one answer when the last check has its result, then gives the Batch back to the pool. `caller` is nullopt if
  // there is no snapshot and the agent is configured to allow every check.
  void start(const http::Request& http, RouteReply reply, std::optional<decide::Caller> caller);

  void decided(std::size_t slot, const Decision& decision) override;
  void refused(std::size_t slot, const decide::Refusal& refusal) override;

 private:
  struct Element {
    explicit Element(decide::Decider& decider) : check(decider) {}
    CheckRequest request;
    decide::Check check;
  };
  // The bytes of one check's result in `results_`. Results arrive in any order.
  struct ResultRange {
    std::size_t at = 0;
    std::size_t size = 0;
    bool without_memory = false;  // the result is the decision overload, and `results_` does not have it
  };

  bool split(const http::Request& http);
  void begin(std::size_t slot);
  void begin_check(std::size_t slot);
  void refuse_size(std::size_t slot);
  void refuse_wait(std::size_t slot);
  void refuse_all(const std::vector<RequestFault>& faults);
  void refuse(std::size_t slot, CheckProblem problem);
  void add_result(std::size_t slot, std::size_t began_at);
  void close_one();
  void send();
  void send_results();
  void refuse_without_memory(std::size_t slot);
  void return_to_pool();

  decide::Decider& decider_;
  Pool<Batch>& pool_;
  std::optional<RouteReply> reply_;
  std::optional<decide::Caller> caller_;
  limiter::Origin origin_;
  std::string request_id_;
  std::string traceparent_;
  std::string body_;
  std::vector<std::span<char>> spans_;      // the text of each check, in body_
  std::deque<Element> elements_;            // one for each check of the largest batch so far
  std::vector<ResultRange> result_ranges_;  // indexed by slot
  std::string results_;
  std::string out_;
  // Checks without a result. start() counts itself as one more, so that early results do not run send().
  std::size_t open_ = 0;
};

}  // namespace sluice::agent::api
