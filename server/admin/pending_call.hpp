// One call of the admin API between its arrival and its answer.
//
// Thread safety: `progress` from any thread. A thread of postgres::Pool reads `call`. Everything else belongs to the
// server's loop.
#pragma once

#include <chrono>
#include <functional>
#include <utility>
#include <variant>

#include "common/http/server.hpp"
#include "server/admin/call.hpp"
#include "server/admin/call_progress.hpp"

namespace sluice::server::admin {

struct PendingCall {
  using Time = std::chrono::steady_clock::time_point;

  explicit PendingCall(sluice::http::Reply its_reply) : reply(std::move(its_reply)) {}
  explicit PendingCall(sluice::http::Admission its_admission) : reply(std::move(its_admission)) {}
  // A call that an event stream repeats, whose answer goes to `its_deliver` (event_streams.hpp).
  PendingCall(Call its_call, std::function<void(FinishedAnswer)> its_deliver)
      : call(std::move(its_call)), deliver(std::move(its_deliver)) {}
  // The next attempt of the same call (waiting_calls.hpp). `before` must not be used afterwards.
  explicit PendingCall(PendingCall& before)
      : reply(std::move(before.reply)),
        call(std::move(before.call)),
        span(std::move(before.span)),
        arrived(before.arrived) {
    before.answered = true;
    call.trace = {};  // a call that waits repeats its statements ten times a second
  }

  // Admission: the body has not been read yet. monostate: the answer goes to `deliver`.
  std::variant<std::monostate, sluice::http::Reply, sluice::http::Admission> reply;
  Call call;
  std::function<void(FinishedAnswer)> deliver = {};
  tracing::ActiveSpan span;  // empty if the call is not traced
  Time arrived = std::chrono::steady_clock::now();
  Time begin = arrived;   // when this attempt began
  bool answered = false;  // also true if the next attempt has taken the call over
  CallProgress progress;

  bool asks_for_body() const { return std::holds_alternative<sluice::http::Admission>(reply); }
};

}  // namespace sluice::server::admin
