// One call of CheckBatch. Each check gets a result of its own: a decision or a refusal.
//
// All checks start in one turn of the event loop, so that they go to Redis in one write. `slot` is the index of a
// check. Thread: one worker's. Batches are pooled.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/grpc/check_message.hpp"
#include "agent/grpc/statuses.hpp"
#include "common/base/pool.hpp"
#include "common/grpc/service.hpp"
#include "engine/decide/check.hpp"

namespace sluice::agent::rpc {

class BatchCall final : public decide::CheckListener {
 public:
  BatchCall(decide::Decider& decider, StatusWriter& statuses, Pool<BatchCall>& pool)
      : decider_(decider), statuses_(statuses), pool_(pool) {}

  // Sends one answer when the last check has its result, then gives itself back to the pool. `caller` is nullopt if
  // there is no snapshot and the agent is configured to allow every check.
  void start(std::span<char> message, grpc::Reply reply, std::optional<decide::Caller> caller);

  void decided(std::size_t slot, const Decision& decision) override;
  void refused(std::size_t slot, const decide::Refusal& refusal) override;

 private:
  struct Element {
    explicit Element(decide::Decider& decider) : check(decider) {}
    CheckMessage message;
    decide::Check check;
    std::string result;  // a CheckResult
  };

  bool split(std::span<char> message);
  void begin(std::size_t slot);
  void begin_check(std::size_t slot);
  void refuse(std::size_t slot, const Refused& refused);
  void refuse_without_memory(std::size_t slot);
  void close_one();
  void send();
  void return_to_pool();

  decide::Decider& decider_;
  StatusWriter& statuses_;
  Pool<BatchCall>& pool_;
  std::optional<grpc::Reply> reply_;
  std::optional<decide::Caller> caller_;
  limiter::Origin origin_;
  std::string traceparent_;
  std::vector<std::span<char>> spans_;  // the bytes of each check, in the message that the reply keeps
  std::deque<Element> elements_;        // one for each check of the largest batch so far
  std::string part_;
  std::string out_;
  // Checks without a result. start() counts itself as one more, so that early results do not run send().
  std::size_t open_ = 0;
};

}  // namespace sluice::agent::rpc
