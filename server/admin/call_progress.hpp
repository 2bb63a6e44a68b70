// How far a call has come. The thread that runs the call and the loop that gives it up at its deadline agree here, so
// that the client is told the truth: a call that was given up before its COMMIT never commits.
//
// Thread safety: any thread; set_deadline() only before the call is in the pool's queue.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include <pqxx/connection>

namespace sluice::server::admin {

class CallProgress {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void set_deadline(Time deadline) { deadline_ = deadline; }
  Time deadline() const { return deadline_; }  // Time::max(): none

  // For the pool's thread. Each returns false if the call was given up: then it must not go on.

  bool begin() { return leave(Stage::waiting, Stage::running); }
  // Begins an attempt on this connection. REQUIRES: an earlier attempt committed nothing.
  bool attempt(std::shared_ptr<pqxx::connection> connection) {
    const std::lock_guard lock(mutex_);
    if (stage_ != Stage::running && stage_ != Stage::committing) return false;
    stage_ = Stage::running;
    connection_ = std::move(connection);
    return true;
  }
  // Called right before COMMIT is sent.
  bool may_commit() { return leave(Stage::running, Stage::committing); }
  // The answer is known, and the connection serves other calls from now on.
  bool finish() {
    const std::lock_guard lock(mutex_);
    connection_.reset();
    if (stage_ == Stage::given_up) return false;
    stage_ = Stage::finished;
    return true;
  }

  // For the loop.

  enum class Outcome : std::uint8_t {
    nothing_changed,  // and nothing will be changed by this call
    in_doubt,         // COMMIT was sent
    finished,         // too late to give up: the answer is on its way
  };
  struct GivenUp {
    Outcome outcome = Outcome::finished;
    // If set, a statement that nobody needs any more runs on this connection.
    std::shared_ptr<pqxx::connection> to_cancel = nullptr;
  };
  GivenUp give_up() {
    const std::lock_guard lock(mutex_);
    switch (stage_) {
      case Stage::waiting:
      case Stage::running:
        stage_ = Stage::given_up;
        return {.outcome = Outcome::nothing_changed, .to_cancel = std::move(connection_)};
      case Stage::committing:
        // A COMMIT is never cancelled: PostgreSQL could then confirm it before the standby has it.
        stage_ = Stage::given_up;
        return {.outcome = Outcome::in_doubt};
      case Stage::given_up:
      case Stage::finished:
        break;
    }
    return {};
  }

 private:
  enum class Stage : std::uint8_t { waiting, running, committing, finished, given_up };

  bool leave(Stage before, Stage next) {
    const std::lock_guard lock(mutex_);
    if (stage_ != before) return false;
    stage_ = next;
    return true;
  }

  Time deadline_ = Time::max();
  std::mutex mutex_;  // guards the members below
  Stage stage_ = Stage::waiting;
  std::shared_ptr<pqxx::connection> connection_;  // of the running attempt
};

}  // namespace sluice::server::admin
