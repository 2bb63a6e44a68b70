#include "engine/decide/waiting_room.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "common/base/crypto.hpp"

namespace sluice::decide {
namespace {

using namespace std::chrono_literals;

constexpr WaitingRoom::Duration kLeastWait = 1ms;  // also if the store says that the check fits in less
constexpr WaitingRoom::Duration kLeastJitter = 2ms;
constexpr WaitingRoom::Duration kMostJitter = 100ms;

std::uint32_t seed() {
  std::uint32_t number = 0;
  random_bytes({reinterpret_cast<std::uint8_t*>(&number), sizeof number});
  return number;
}

}  // namespace

WaitingRoom::WaitingRoom(WaitingPlaces& places, Duration longest, std::function<void(Time)> set_alarm)
    : places_(places), longest_(longest), set_alarm_(std::move(set_alarm)), random_(seed()) {}

std::optional<WaitingRoom::LineView> WaitingRoom::find(std::uint64_t counter) const {
  const auto line = lines_.find(counter);
  if (line == lines_.end() || closed_) return std::nullopt;
  return LineView{&line->second.denial, line->second.guests.front().wake_at_};
}

bool WaitingRoom::join(Guest& guest, const Seat& seat, Time until, Time try_at, const Denial* denial) {
  if (closed_) return false;
  std::optional<WaitingPlaces::Place> place = places_.enter(seat.caller, seat.counter);
  if (!place) return false;
  Line& line = lines_[seat.counter];
  line.counter = seat.counter;
  if (denial != nullptr) line.denial = *denial;
  const bool first = line.guests.empty();
  line.guests.push_back(guest);
  guest.line_ = &line;
  guest.until_ = until;
  guest.asking_ = false;
  guest.place_ = *std::move(place);
  set_alarm(guest, first ? try_at : until);
  arm();
  return true;
}

bool WaitingRoom::wait_on(Guest& guest, Time try_at, const Denial& denial) {
  if (closed_ || !guest.in_room()) return false;
  guest.line_->denial = denial;
  guest.asking_ = false;
  set_alarm(guest, try_at);
  arm();
  return true;
}

void WaitingRoom::leave(Guest& guest, Time now, bool failed) noexcept {
  Line* const line = guest.line_;
  if (line == nullptr) return;
  const bool first = &line->guests.front() == &guest;
  take_out(guest);
  if (line == &let_go_) return;
  if (line->guests.empty()) {
    lines_.erase(line->counter);
  } else if (failed) {
    let_go(*line, now);
  } else if (first) {
    set_alarm(line->guests.front(), now);
  }
  arm();
}

void WaitingRoom::dismiss(Guest& guest, Time now) {
  if (!guest.in_room() || guest.asking_) return;
  const Denial denial = guest.line_->denial;
  leave(guest, now);
  guest.give_up(WaitOutcome::left, denial);
}

WaitingRoom::Time WaitingRoom::jittered(Time now, Duration wait, Time until) {
  const Duration least = std::max(wait, kLeastWait);
  const Duration most = std::clamp(wait / 10, kLeastJitter, kMostJitter);
  std::uniform_int_distribution<Duration::rep> jitter(0, most.count());
  return std::min(now + least + Duration(jitter(random_)), until);
}

void WaitingRoom::wake(Time now) {
  armed_for_ = Time::max();
  waking_ = true;
  while (!alarms_.empty() && alarms_.begin()->wake_at_ <= now) wake_one(*alarms_.begin());
  waking_ = false;
  arm();
}

void WaitingRoom::wake_one(Guest& guest) {
  Line& line = *guest.line_;
  if (&line == &let_go_) {
    take_out(guest);
    return guest.try_again(true);
  }
  if (&line.guests.front() == &guest) {
    alarms_.erase(alarms_.iterator_to(guest));
    guest.asking_ = true;
    return guest.try_again(false);
  }
  take_out(guest);
  guest.give_up(WaitOutcome::timed_out, line.denial);
}

void WaitingRoom::close() {
  closed_ = true;
  for (auto next = lines_.begin(); next != lines_.end();) {
    const auto at = next++;
    Line& line = at->second;
    const Denial denial = line.denial;
    while (!line.guests.empty() && !line.guests.back().asking_) {
      Guest& guest = line.guests.back();
      take_out(guest);
      guest.give_up(WaitOutcome::drained, denial);
    }
    if (line.guests.empty()) lines_.erase(at);
  }
}

void WaitingRoom::set_alarm(Guest& guest, Time at) noexcept {
  if (guest.alarm_hook_.is_linked()) alarms_.erase(alarms_.iterator_to(guest));
  guest.wake_at_ = at;
  alarms_.insert(guest);
}

void WaitingRoom::take_out(Guest& guest) noexcept {
  if (guest.alarm_hook_.is_linked()) alarms_.erase(alarms_.iterator_to(guest));
  guest.line_->guests.erase(guest.line_->guests.iterator_to(guest));
  guest.line_ = nullptr;
  guest.asking_ = false;
  guest.place_.leave();
}

void WaitingRoom::let_go(Line& line, Time now) noexcept {
  for (Guest& guest : line.guests) {
    guest.line_ = &let_go_;
    set_alarm(guest, now);
  }
  let_go_.guests.splice(let_go_.guests.end(), line.guests);
  lines_.erase(line.counter);
}

// Without memory for the alarm, the next call of wake() sets it.
void WaitingRoom::arm() noexcept {
  if (waking_ || alarms_.empty() || alarms_.begin()->wake_at_ >= armed_for_) return;
  try {
    set_alarm_(alarms_.begin()->wake_at_);
    armed_for_ = alarms_.begin()->wake_at_;
  } catch (const std::bad_alloc&) {
    armed_for_ = Time::max();
  }
}

}  // namespace sluice::decide
