// One script call of a RedisStore in flight. It sends the call again if that is known to be safe.
//
// Thread: the store's. For the files of RedisStore only.
#pragma once

#include <chrono>
#include <optional>

#include "common/limiter/redis_store.hpp"

namespace sluice::limiter {

class RedisStore::Pending : public redis::ReplyHandler {
 public:
  explicit Pending(RedisStore& store) : store_(store) {}
  virtual ~Pending() = default;

  // Without a deadline of its own, the call gets the store's.
  void start(Script script, std::optional<Deadline> deadline = {}) {
    script_ = script;
    missing_ = retried_ = false;
    started_ = std::chrono::steady_clock::now();
    deadline_ = deadline.value_or(started_ + store_.deadline_);
    send(CallBy::hash);
  }
  void resend() { send(CallBy::hash); }

  void on_reply(const redis::Reply& reply) final;
  void on_failure(redis::Failure failure) final;

 protected:
  virtual void write(redis::CommandWriter& out, CallBy by) = 0;
  virtual void answered(const redis::Reply& reply) = 0;
  virtual void failed(const StoreError& error) = 0;
  // Redis Cluster refuses a call of several keys while it moves their slot, if the keys are on different nodes. Sends
  // calls of fewer keys and returns true, or returns false if the call cannot be split.
  virtual bool split() { return false; }

  Deadline deadline() const { return deadline_; }
  void send(CallBy by) { write(store_.client_.begin(*this, deadline_), by); }
  void fail(const StoreError& error) {
    if (store_.observer_.failed) store_.observer_.failed(error.fault);
    failed(error);
  }

  RedisStore& store_;

 private:
  Script script_ = Script::check;
  Deadline started_;
  Deadline deadline_;
  bool missing_ = false;  // met NOSCRIPT before
  bool retried_ = false;  // met READONLY before
};

}  // namespace sluice::limiter
