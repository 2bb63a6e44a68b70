// Commands on their way to the server, each with what its reply has to be. While the server works on one batch the next
// one is made.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/redis/command_writer.hpp"
#include "tests/integration/equivalence/redis_link.hpp"

namespace sluice::test {

// Not thread-safe.
class Pipeline {
 public:
  // Throws where the reply is not the one expected.
  using Expectation = std::move_only_function<void(const redis::Reply&)>;

  explicit Pipeline(RedisLink& link) : link_(link) {}

  // REQUIRES: exactly one command is written into the writer before the next call.
  redis::CommandWriter& command(Expectation expectation) {
    if (expected_.size() >= kBatch) turn();
    expected_.push_back(std::move(expectation));
    return writer_;
  }
  // Sends what is waiting and checks all replies.
  void finish() {
    turn();
    turn();
  }

 private:
  static constexpr std::size_t kBatch = 400;

  void turn() {
    link_.send(out_);
    out_.clear();
    link_.receive(in_flight_.size(), [&](std::size_t i, const redis::Reply& reply) { in_flight_[i](reply); });
    in_flight_ = std::exchange(expected_, {});
  }

  RedisLink& link_;
  std::string out_;
  redis::CommandWriter writer_{out_};
  std::vector<Expectation> expected_;   // of what is in out_
  std::vector<Expectation> in_flight_;  // of what was sent
};

}  // namespace sluice::test
