// A batch of checks on its way: {"checks":[…]} → {"results":[…]}, in the same order.
//
// Each check is judged on its own, by the snapshot that was in force when the batch came; one that is none gets its
// problem in its place. All are begun in one turn of the loop, in their order: that makes them one write to Redis.
// Thread: one worker's. Batches are reused: in the steady state they allocate nothing.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/api/api_replies.hpp"
#include "agent/api/pool.hpp"
#include "agent/decide/check.hpp"

namespace sluice::agent::api {

class Batch final : public decide::CheckListener {
 public:
  Batch(decide::CheckContext& context, Pool<Batch>& pool) : context_(context), pool_(pool) {}

  // Answers once, when the last check is told, and goes back to the pool. Without a snapshot (and a key) nothing can be
  // judged: every check is allowed.
  void start(const http::Request& http, RouteReply reply, std::shared_ptr<const policy::Snapshot> snapshot,
             const policy::KeyView* key);

  void decided(std::size_t slot, const Decision& decision) override;
  void refused(std::size_t slot, const http::Problem& problem) override;

 private:
  // Where a check's result is among `results_`, which come in any order.
  struct Result {
    std::size_t at = 0;
    std::size_t size = 0;
  };

  void begin(std::size_t slot);
  void refuse_size(std::size_t slot);
  void refuse(const std::vector<RequestFault>& faults);
  void told(std::size_t slot, std::size_t began_at);
  void close_one();
  void send();
  void rest();

  decide::CheckContext& context_;
  Pool<Batch>& pool_;
  std::optional<RouteReply> reply_;
  std::shared_ptr<const policy::Snapshot> snapshot_;  // keeps what the checks look at alive
  decide::Caller caller_;
  std::string traceparent_;
  std::string body_;                       // the checks point into it
  std::vector<std::span<char>> elements_;  // of body_
  std::deque<decide::Check> checks_;       // at least as many as the largest batch so far had
  std::vector<Result> places_;             // by element
  std::string results_;
  std::string out_;
  std::size_t open_ = 0;  // checks not told yet, and one for start() itself
};

}  // namespace sluice::agent::api
