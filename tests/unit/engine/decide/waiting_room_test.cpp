// Lines of held checks, with a clock that the tests set.
#include "engine/decide/waiting_room.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <string>
#include <vector>

namespace sluice::decide {
namespace {

using namespace std::chrono_literals;
using Time = WaitingRoom::Time;

const Time kStart{1'000s};
constexpr std::uint64_t kCounter = 7;

// A check that notes what the room tells it, and does in try_again() what the test says.
struct TestGuest final : WaitingRoom::Guest {
  TestGuest(std::string its_name, std::vector<std::string>& its_notes) : name(std::move(its_name)), notes(its_notes) {}
  void try_again(bool last) override {
    notes.push_back(name + (last ? " asks last" : " asks"));
    if (then) then();
  }
  void give_up(WaitOutcome outcome, const WaitingRoom::Denial& denial) override {
    notes.push_back(name + " " + std::string(kWaitOutcomes[static_cast<std::size_t>(outcome)]));
    limit = denial.outcome.report.limit;
  }

  std::string name;
  std::vector<std::string>& notes;
  std::function<void()> then;
  std::int64_t limit = 0;
};

struct Rig {
  explicit Rig(std::size_t limit = 10) : places(limit) {}

  TestGuest& guest() { return guests.emplace_back(std::string(1, static_cast<char>('a' + guests.size())), notes); }
  // The guest has asked at `now` and was denied; it may fit at `try_at`.
  TestGuest& denied(Time try_at, Time until = kStart + 30s, std::uint64_t counter = kCounter) {
    TestGuest& one = guest();
    const WaitingRoom::Denial denial = denial_of(static_cast<std::int64_t>(guests.size()));
    joined = room.join(one, {{.tenant = 1, .key = 2}, counter}, until, try_at, &denial);
    return one;
  }
  TestGuest& behind(Time until = kStart + 30s) {
    TestGuest& one = guest();
    joined = room.join(one, {{.tenant = 1, .key = 2}, kCounter}, until, until, nullptr);
    return one;
  }
  static WaitingRoom::Denial denial_of(std::int64_t limit) {
    WaitingRoom::Denial denial;
    denial.outcome.allowed = false;
    denial.outcome.report.limit = limit;
    denial.at = kStart;
    return denial;
  }
  using Notes = std::vector<std::string>;
  Notes woken(Time now) {
    room.wake(now);
    return std::exchange(notes, {});
  }

  WaitingPlaces places;
  std::optional<Time> alarm;
  Notes notes;
  std::deque<TestGuest> guests;
  WaitingRoom room{places, 30s, [this](Time at) { alarm = at; }};
  bool joined = false;
};
using Notes = Rig::Notes;

}  // namespace

TEST_CASE("a guest asks when its time has come, and the alarm is set for it") {
  Rig rig;
  TestGuest& first = rig.denied(kStart + 2s);
  CHECK(rig.joined);
  CHECK(rig.alarm == kStart + 2s);
  CHECK(rig.places.count() == 1);
  CHECK(rig.woken(kStart + 1s).empty());
  CHECK(rig.woken(kStart + 2s) == Notes{"a asks"});
  CHECK(rig.woken(kStart + 60s).empty());  // it asks only once, however long the store takes
  rig.room.leave(first, kStart + 3s);
  CHECK(rig.room.empty());
  CHECK(rig.places.count() == 0);
}

TEST_CASE("those behind the first ask nothing until they are first, and then in order of arrival") {
  Rig rig;
  rig.denied(kStart + 2s).then = [&] { rig.room.leave(rig.guests[0], kStart + 2s); };
  rig.behind().then = [&] { rig.room.leave(rig.guests[1], kStart + 2s); };
  rig.behind();
  CHECK(rig.woken(kStart + 2s) == Notes{"a asks", "b asks", "c asks"});
  CHECK(rig.room.find(kCounter)->next_try <= kStart + 2s);
  CHECK(rig.woken(kStart + 20s).empty());
}

TEST_CASE("a first that is denied again waits on, and nobody overtakes it") {
  Rig rig;
  Time next = kStart + 5s;
  rig.denied(kStart + 2s).then = [&] { CHECK(rig.room.wait_on(rig.guests[0], next, Rig::denial_of(77))); };
  rig.behind();
  CHECK(rig.woken(kStart + 2s) == Notes{"a asks"});
  CHECK(rig.alarm == kStart + 5s);
  CHECK(rig.room.find(kCounter)->denial->outcome.report.limit == 77);
  CHECK(rig.room.find(kCounter)->next_try == kStart + 5s);
  CHECK(rig.woken(kStart + 4s).empty());
  next = kStart + 8s;
  CHECK(rig.woken(kStart + 5s) == Notes{"a asks"});
}

TEST_CASE("one that stands behind gives up when its time is over, with the last denial of its line") {
  Rig rig;
  rig.denied(kStart + 20s);
  TestGuest& second = rig.behind(kStart + 3s);
  rig.behind();
  CHECK(rig.alarm == kStart + 3s);
  CHECK(rig.woken(kStart + 3s) == Notes{"b timed_out"});
  CHECK(second.limit == 1);
  CHECK_FALSE(second.in_room());
  CHECK(rig.places.count() == 2);
}

TEST_CASE("one behind that leaves makes nobody ask; the first does") {
  Rig rig;
  TestGuest& first = rig.denied(kStart + 20s);
  TestGuest& second = rig.behind();
  rig.behind();
  rig.room.dismiss(second, kStart + 1s);
  CHECK(rig.notes == Notes{"b left"});
  rig.notes.clear();
  CHECK(rig.woken(kStart + 1s).empty());
  rig.room.dismiss(first, kStart + 1s);
  CHECK(rig.notes == Notes{"a left"});
  rig.notes.clear();
  CHECK(rig.alarm == kStart + 1s);
  CHECK(rig.woken(kStart + 1s) == Notes{"c asks"});
}

TEST_CASE("a guest that asks is not dismissed") {
  Rig rig;
  TestGuest& first = rig.denied(kStart + 1s);
  CHECK(rig.woken(kStart + 1s) == Notes{"a asks"});
  rig.room.dismiss(first, kStart + 1s);
  CHECK(rig.notes.empty());
  CHECK(first.in_room());
  CHECK(rig.room.wait_on(first, kStart + 2s, Rig::denial_of(1)));
}

TEST_CASE("if the store fails for the first, all of its line ask once more and leave the room") {
  Rig rig;
  TestGuest& first = rig.denied(kStart + 1s);
  rig.behind();
  rig.behind();
  rig.denied(kStart + 9s, kStart + 30s, 8);
  CHECK(rig.woken(kStart + 1s) == Notes{"a asks"});
  rig.room.leave(first, kStart + 2s, true);
  CHECK_FALSE(rig.room.find(kCounter));  // whoever comes now asks himself
  CHECK(rig.woken(kStart + 2s) == Notes{"b asks last", "c asks last"});
  CHECK_FALSE(rig.room.wait_on(rig.guests[1], kStart + 3s, Rig::denial_of(1)));
  CHECK(rig.places.count() == 1);
  CHECK(rig.room.find(8));
}

TEST_CASE("one that was let go may leave before it asks") {
  Rig rig;
  TestGuest& first = rig.denied(kStart + 1s);
  TestGuest& second = rig.behind();
  rig.woken(kStart + 1s);
  rig.room.leave(first, kStart + 2s, true);
  rig.room.dismiss(second, kStart + 2s);
  CHECK(rig.notes == Notes{"b left"});
  rig.notes.clear();
  CHECK(rig.woken(kStart + 2s).empty());
  CHECK(rig.places.count() == 0);
}

TEST_CASE("a closed room lets all give up but the one that asks, and takes nobody") {
  Rig rig;
  TestGuest& first = rig.denied(kStart + 1s);
  rig.behind();
  rig.denied(kStart + 9s, kStart + 30s, 8);
  rig.woken(kStart + 1s);
  rig.room.close();
  std::ranges::sort(rig.notes);
  CHECK(rig.notes == Notes{"b drained", "c drained"});
  CHECK_FALSE(rig.room.wait_on(first, kStart + 2s, Rig::denial_of(1)));
  CHECK_FALSE(rig.room.find(kCounter));
  rig.room.leave(first, kStart + 2s);
  rig.denied(kStart + 3s);
  CHECK_FALSE(rig.joined);
  CHECK(rig.room.empty());
  CHECK(rig.places.count() == 0);
}

TEST_CASE("no more are held than there are places, and no more than 100 of one counter") {
  Rig few(2);
  few.denied(kStart + 1s);
  few.denied(kStart + 1s, kStart + 30s, 8);
  CHECK(few.joined);
  few.denied(kStart + 1s, kStart + 30s, 9);
  CHECK_FALSE(few.joined);

  Rig many(1'000);
  many.denied(kStart + 1s);
  for (std::uint32_t i = 1; i < WaitingPlaces::kMostOfCounter; ++i) many.behind();
  CHECK(many.joined);
  many.behind();
  CHECK_FALSE(many.joined);
  many.denied(kStart + 1s, kStart + 30s, 8);
  CHECK(many.joined);
  many.room.leave(many.guests[5], kStart);
  many.behind();
  CHECK(many.joined);
}

TEST_CASE("a tenant leaves the last eighth of the places to others") {
  WaitingPlaces places(80);
  std::vector<WaitingPlaces::Place> noisy;
  std::uint64_t counter = 0;
  while (auto place = places.enter({.tenant = 1ULL << 40, .key = 2, .only_key = true}, ++counter)) {
    noisy.push_back(*std::move(place));
  }
  CHECK(noisy.size() == 70);
  std::vector<WaitingPlaces::Place> quiet;
  while (auto place = places.enter({.tenant = 2ULL << 40, .key = 3, .only_key = true}, ++counter)) {
    quiet.push_back(*std::move(place));
  }
  CHECK(quiet.size() == 10);
  noisy.clear();
  CHECK(places.count() == quiet.size());
}

TEST_CASE("the jitter is at most a tenth of the wait, and no guest asks after its time") {
  Rig rig;
  Time least = Time::max(), most = Time::min();
  for (int i = 0; i < 1'000; ++i) {
    const Time at = rig.room.jittered(kStart, 500ms, kStart + 30s);
    least = std::min(least, at);
    most = std::max(most, at);
    CHECK(rig.room.jittered(kStart, 500ms, kStart + 510ms) <= kStart + 510ms);
  }
  CHECK(least >= kStart + 500ms);
  CHECK(most <= kStart + 550ms);
  CHECK(most - least > 25ms);
  CHECK(rig.room.jittered(kStart, 0ms, kStart + 30s) > kStart);
}

TEST_CASE("without memory for the alarm the next call sets it") {
  WaitingPlaces places(10);
  bool fails = true;
  std::optional<Time> alarm;
  WaitingRoom room(places, 30s, [&](Time at) {
    if (fails) throw std::bad_alloc();
    alarm = at;
  });
  std::vector<std::string> notes;
  TestGuest guest("a", notes);
  const WaitingRoom::Denial denial = Rig::denial_of(1);
  CHECK(room.join(guest, {{}, kCounter}, kStart + 9s, kStart + 5s, &denial));
  fails = false;
  room.wake(kStart);
  CHECK(alarm == kStart + 5s);
  room.leave(guest, kStart);
}

}  // namespace sluice::decide
