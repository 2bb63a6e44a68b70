// Holds the checks of one worker that do not fit yet, until they fit or have waited long enough.
//
// Checks of one counter stand in a line, in order of arrival. Only the first asks the counter store again; the others
// ask nothing until they are first. When the first is gone, the next asks at once.
//
//   join() ──▶ waits ──(its time has come)──▶ try_again() ──▶ wait_on() or leave()
//                └──(too late, drained, dismissed)──▶ give_up()
//
// The room owns the lines, their order and the times. A guest owns itself, and stays alive while it is in the room.
// A guest that leaves never runs another one: the next asks in the next call of wake().
// Memory: one node for each line, at most one for each place. Thread: one worker's. Time is an argument; `set_alarm`
// asks for a call of wake() at a time. Further calls of wake() do no harm.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <unordered_map>

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>

#include "common/limiter/counter_store.hpp"
#include "engine/decide/wait_outcome.hpp"
#include "engine/decide/waiting_places.hpp"

namespace sluice::decide {

class WaitingRoom {
  struct Line;

 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  // The store's last answer that denied a check of a line, without its `limits`.
  struct Denial {
    limiter::Outcome outcome;
    Time at;
  };

  class Guest {
   public:
    Guest() = default;
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;
    bool in_room() const { return line_ != nullptr; }
    Time until() const { return until_; }  // REQUIRES: it has been in the room

   protected:
    ~Guest() = default;

   private:
    friend class WaitingRoom;

    // The guest asks the counter store, then calls wait_on() or leave(), perhaps later. `last`: it has left the room
    // already, because the store failed for the first of its line; it answers whatever the store says.
    virtual void try_again(bool last) = 0;
    // The guest has left the room. It answers with its own denial, or with `denial` if it never asked.
    virtual void give_up(WaitOutcome outcome, const Denial& denial) = 0;

    Line* line_ = nullptr;
    Time until_;
    Time wake_at_;
    bool asking_ = false;
    WaitingPlaces::Place place_;
    boost::intrusive::list_member_hook<> line_hook_;
    boost::intrusive::set_member_hook<> alarm_hook_;
  };

  struct Seat {
    InFlight::Caller caller;
    std::uint64_t counter = 0;  // a hash of the counter's keys
  };
  // A line that somebody stands in.
  struct LineView {
    const Denial* denial;
    Time next_try;  // when its first asks again; in the past while it asks
  };

  // `longest`: no check is held longer (--max-wait).
  WaitingRoom(WaitingPlaces& places, Duration longest, std::function<void(Time)> set_alarm);

  bool empty() const { return lines_.empty(); }
  Duration longest() const { return longest_; }
  // nullopt if nobody stands in the line, or if the room is closed.
  std::optional<LineView> find(std::uint64_t counter) const;

  // Returns false if there is no place, or if the room is closed. `denial`: of this guest, which asked, and may fit at
  // `try_at`. nullptr: the guest has not asked. REQUIRES: then somebody stands in the line.
  bool join(Guest& guest, const Seat& seat, Time until, Time try_at, const Denial* denial);
  // The guest has asked and was denied, and waits on. Returns false if it has left the room, or if the room is closed.
  bool wait_on(Guest& guest, Time try_at, const Denial& denial);
  // Takes the guest out, if it is in the room. `failed`: the store gave no answer. Then the others of its line ask at
  // once, for the last time.
  void leave(Guest& guest, Time now, bool failed = false) noexcept;
  // The guest's caller has left. A guest that asks just now goes on.
  void dismiss(Guest& guest, Time now);

  // When a guest asks that may fit after `wait`: a little later, so that the agents do not all ask at once.
  Time jittered(Time now, Duration wait, Time until);

  void wake(Time now);
  // All guests give up, and nobody can join. A guest that asks just now goes on.
  void close();

 private:
  using Guests = boost::intrusive::list<
      Guest, boost::intrusive::member_hook<Guest, boost::intrusive::list_member_hook<>, &Guest::line_hook_>>;
  struct Line {
    std::uint64_t counter = 0;
    Denial denial;
    Guests guests;
  };
  struct ByTime {
    bool operator()(const Guest& a, const Guest& b) const { return a.wake_at_ < b.wake_at_; }
  };
  using Alarms = boost::intrusive::multiset<
      Guest, boost::intrusive::member_hook<Guest, boost::intrusive::set_member_hook<>, &Guest::alarm_hook_>,
      boost::intrusive::compare<ByTime>>;

  void set_alarm(Guest& guest, Time at) noexcept;
  void take_out(Guest& guest) noexcept;
  void let_go(Line& line, Time now) noexcept;
  void wake_one(Guest& guest);
  void arm() noexcept;

  WaitingPlaces& places_;
  const Duration longest_;
  const std::function<void(Time)> set_alarm_;
  std::unordered_map<std::uint64_t, Line> lines_;
  Line let_go_;  // of those that ask for the last time
  Alarms alarms_;
  std::minstd_rand random_;
  Time armed_for_ = Time::max();
  bool waking_ = false;
  bool closed_ = false;
};

}  // namespace sluice::decide
