// One call between its arrival and its answer.
//
// Thread safety: the stage may be changed from any thread, all else belongs to the server's loop.
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
  enum class Stage : std::uint8_t { waiting, running, given_up };

  explicit PendingCall(sluice::http::Reply its_reply) : reply(std::move(its_reply)) {}
  explicit PendingCall(sluice::http::Admission its_admission) : reply(std::move(its_admission)) {}
  // A copy of the call for the next attempt. The old one must not be used any more.
  explicit PendingCall(PendingCall& before)
      : reply(std::move(before.reply)), call(std::move(before.call)), arrived(before.arrived) {
    before.answered = true;
  }

  std::variant<sluice::http::Reply, sluice::http::Admission> reply;
  Call call;
  Time arrived = std::chrono::steady_clock::now();
  Time begin = arrived;  // of this time that it is made
  bool answered = false;
  std::atomic<Stage> stage{Stage::waiting};

  bool asks_for_body() const { return std::holds_alternative<sluice::http::Admission>(reply); }
  bool changes() const { return !asks_for_body() && call.route->changes(); }
  // Decides a race: either the call begins, or it is given up and never begins.
  bool leave_queue(Stage next) {
    Stage expected = Stage::waiting;
    return stage.compare_exchange_strong(expected, next);
  }
};

}  // namespace sluice::server::admin
