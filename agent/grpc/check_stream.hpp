// One call of CheckStream: a client sends checks one after the other, and gets answers in the order of the decisions.
//
// A stream owns itself until the call is over and no check is under way. The API key is looked at with each check, so
// that a revoked key ends the stream.
// Thread: one worker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "agent/grpc/check_message.hpp"
#include "agent/grpc/statuses.hpp"
#include "common/grpc/service.hpp"
#include "engine/decide/check.hpp"

namespace sluice::agent::rpc {

class CheckStream final : public decide::CheckListener, private grpc::CallListener {
 public:
  // Checks of one stream that are under way at the same time. Further ones wait with the client.
  static constexpr std::size_t kMaxOpen = 256;
  // Bytes of answers that the client has not read, before its further checks wait.
  static constexpr std::size_t kMaxWaiting = 256UL << 10;

  static void start(decide::Decider& decider, StatusWriter& statuses, grpc::Reply reply);

  void decided(std::size_t slot, const Decision& decision) override;
  void refused(std::size_t slot, const decide::Refusal& refusal) override;

 private:
  struct Element {
    explicit Element(decide::Decider& decider) : check(decider) {}
    std::uint64_t id = 0;
    std::string bytes;  // `message` points into them
    CheckMessage message;
    decide::Caller caller;
    decide::Check check;
  };

  CheckStream(decide::Decider& decider, StatusWriter& statuses, grpc::Reply reply);

  void on_message(std::span<char> message) override;
  void on_half_close() override;
  void on_writable() override;
  void on_drain() override;
  void on_over() override;

  void take(std::span<char> bytes);
  std::size_t take_slot();
  void end_without_memory();
  void begin(std::size_t slot, std::span<char> check);
  decide::CheckTrace trace() const;
  void refuse(std::size_t slot, const Refused& refused);
  void answer(std::size_t slot);
  void give_back(std::size_t slot);
  void end_when_done();
  void regulate();

  decide::Decider& decider_;
  StatusWriter& statuses_;
  grpc::Reply reply_;
  std::string api_key_;
  std::string traceparent_;
  std::deque<Element> elements_;
  std::vector<std::size_t> free_;  // slots of elements_
  std::size_t open_ = 0;           // checks under way
  std::string result_;
  std::string part_;
  std::string out_;
  bool working_ = false;  // a member function that still needs the object is on the stack
  bool over_ = false;     // the client is gone, or the status is sent
  bool last_ = false;     // no further checks come, or are taken
  bool draining_ = false;
};

}  // namespace sluice::agent::rpc
