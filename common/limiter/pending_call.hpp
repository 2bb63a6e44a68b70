// The base class of RedisStore's script calls in flight.
//
// Thread: that of the store.
#pragma once

#include <chrono>
#include <expected>
#include <new>
#include <optional>

#include "common/limiter/redis_store.hpp"

namespace sluice::limiter {

// A call for which there is no memory.
inline constexpr StoreError kNotAsked{StoreFault::unavailable, false};

class RedisStore::Pending : public redis::Command, public InFlightHook {
 public:
  explicit Pending(RedisStore& store) : store_(store) {}

  // Without `answer_by` the call may wait in the client's queue; redis::Options::deadline begins when the call is sent.
  // With `answer_by` the call does not wait in that queue.
  void start(Script script, const Origin& origin, std::optional<TimePoint> answer_by = {}) {
    started_ = std::chrono::steady_clock::now();
    store_.client_.submit(*this, key(),
                          {.flow = {origin.tenant, origin.api_key},
                           .patience = origin.batch ? redis::Patience::batch : redis::Patience::single,
                           .script = static_cast<std::uint8_t>(script),
                           .answer_by = answer_by});
  }

  void on_reply(const redis::Reply& reply) final;
  void on_failure(redis::Failure failure) final;

 protected:
  // As of a reply that is lost.
  static constexpr StoreError kNoMemory{StoreFault::disconnected, true};

  virtual void answered(const redis::Reply& reply) = 0;
  virtual void failed(const StoreError& error) = 0;
  // Called after TRYAGAIN: while Redis Cluster moves a slot, the call's keys can be on different nodes. Sends several
  // calls with fewer keys instead. Returns false if the call cannot be split.
  virtual bool split() { return false; }
  virtual std::string_view key() const = 0;  // one of the call's keys

  void resend() {
    try {
      store_.client_.resubmit(*this, key());
    } catch (const std::bad_alloc&) {
      fail(kNoMemory);
    }
  }
  // What `read()` makes of a reply. The call has an answer also if there is no memory for reading.
  template <class Read>
  static auto reading(Read read) noexcept -> decltype(read()) {
    try {
      return read();
    } catch (const std::bad_alloc&) {
      return std::unexpected(kNoMemory);
    }
  }
  void fail(const StoreError& error) {
    if (store_.observer_.failed) store_.observer_.failed(error.fault);
    failed(error);
  }

  RedisStore& store_;

 private:
  TimePoint started_;
};

template <class Ask>
void RedisStore::ask_or_answer(std::span<const RulebookCall> calls, Ask ask) {
  try {
    ask();
  } catch (const std::bad_alloc&) {
    for (const RulebookCall& each : calls) each.listener->judged(std::unexpected(kNotAsked));
  }
}

template <class PendingCall>
void RedisStore::retire(Pool<PendingCall>& idle, PendingCall& call) {
  call.unlink();
  idle.give_back(call);
}

}  // namespace sluice::limiter
