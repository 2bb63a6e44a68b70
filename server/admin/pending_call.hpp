// One call of the admin API between its arrival and its answer.
//
// Thread safety: `stage` from any thread. A thread of postgres::Pool reads `call`. Everything else belongs to the
// server's loop.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>
#include <variant>

#include "common/http/server.hpp"
#include "server/admin/call.hpp"
#include "server/admin/routes.hpp"

namespace sluice::server::admin {

struct PendingCall {
  using Time = std::chrono::steady_clock::time_point;
  // `waiting`: in the pool's queue. `given_up`: the call exceeded the time limit in the queue.
  enum class Stage : std::uint8_t { waiting, running, given_up };

  explicit PendingCall(sluice::http::Reply its_reply) : reply(std::move(its_reply)) {}
  explicit PendingCall(sluice::http::Admission its_admission) : reply(std::move(its_admission)) {}
  // The next attempt of the same call (waiting_calls.hpp). `before` must not be used afterwards.
  explicit PendingCall(PendingCall& before)
      : reply(std::move(before.reply)), call(std::move(before.call)), arrived(before.arrived) {
    before.answered = true;
  }

  std::variant<sluice::http::Reply, sluice::http::Admission> reply;  // Admission: the body has not been read yet
  Call call;
  Time arrived = std::chrono::steady_clock::now();
  Time begin = arrived;   // when this attempt began
  bool answered = false;  // also true if the next attempt has taken the call over
  std::atomic<Stage> stage{Stage::waiting};

  bool asks_for_body() const { return std::holds_alternative<sluice::http::Admission>(reply); }
  bool changes() const { return !asks_for_body() && call.route->changes(); }
  // Returns true to the first caller only: the pool that runs the call, or the timer that gives the call up.
  bool leave_queue(Stage next) {
    Stage expected = Stage::waiting;
    return stage.compare_exchange_strong(expected, next);
  }
};

}  // namespace sluice::server::admin
