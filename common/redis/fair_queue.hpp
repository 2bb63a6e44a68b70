// Commands that wait to be sent. Tenants take turns, and within a tenant its API keys do; a turn is one command. So an
// API key with few commands waits a short time, however many commands other keys have.
//
// Source: J. Nagle, "On Packet Switches with Infinite Storage", RFC 970, 1985: round robin by flow.
//
// No clock: time is an argument. Not thread-safe. All functions take constant time.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <boost/intrusive/list.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "common/redis/command.hpp"

namespace sluice::redis {

template <class T, CommandLink T::* kLink>
using TurnList = boost::intrusive::list<T, boost::intrusive::member_hook<T, CommandLink, kLink>,
                                        boost::intrusive::constant_time_size<false>>;

struct QueuedKey {
  Flow flow;  // the tenant and its API key
  struct QueuedTenant* tenant = nullptr;
  std::array<TurnList<Command, &Command::in_key_>, 2> commands;  // by Patience (single, batch), oldest first
  std::size_t next = 0;  // the Patience that has the next turn, if commands of both kinds wait
  CommandLink in_turn;
};

struct QueuedTenant {
  std::uint64_t id = 0;
  TurnList<QueuedKey, &QueuedKey::in_turn> keys;  // with waiting commands, in the order of their turns
  std::chrono::steady_clock::time_point last_turn{};
  CommandLink in_turn;
};

class FairQueue {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  FairQueue() = default;
  FairQueue(const FairQueue&) = delete;  // commands point into it
  FairQueue& operator=(const FairQueue&) = delete;

  // REQUIRES: commands of one Patience are added in ascending order of `send_by`.
  void push(Command& command, const Flow& flow, Patience patience, TimePoint now, TimePoint send_by);

  // Returns nullptr if the queue is empty.
  Command* pop(TimePoint now);

  struct Overdue {
    Command* command = nullptr;
    bool had_turn = false;  // the tenant had a turn while the command waited
  };
  Overdue pop_overdue(TimePoint now);

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // Returns TimePoint::max() if the queue is empty.
  TimePoint next_overdue() const;

 private:
  struct Hash {
    using is_avalanching = void;
    std::size_t operator()(const Flow& flow) const { return flow.tenant ^ (flow.key * 0x9e3779b97f4a7c15); }
  };

  QueuedKey& key_of(const Flow& flow);
  QueuedTenant& tenant_of(std::uint64_t id);
  void remove(Command& command);

  std::size_t size_ = 0;
  std::array<TurnList<Command, &Command::by_age_>, 2> by_age_;  // one list for each Patience, oldest first
  TurnList<QueuedTenant, &QueuedTenant::in_turn> tenants_;      // with waiting commands, in the order of their turns
  boost::unordered_flat_map<std::uint64_t, QueuedTenant*> tenant_by_id_;
  boost::unordered_flat_map<Flow, QueuedKey*, Hash> key_by_flow_;
  // Tenants and keys without a waiting command are idle, and are reused.
  std::vector<std::unique_ptr<QueuedTenant>> all_tenants_;
  std::vector<std::unique_ptr<QueuedKey>> all_keys_;
  std::vector<QueuedTenant*> idle_tenants_;
  std::vector<QueuedKey*> idle_keys_;
};

}  // namespace sluice::redis
