// The order of turns, and overdue commands.
#include "common/redis/fair_queue.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <map>
#include <random>
#include <string>

#include "tests/unit/redis/recorder.hpp"

namespace sluice::redis::test {
namespace {

using namespace std::chrono_literals;
using TimePoint = FairQueue::TimePoint;

constexpr TimePoint kStart{1000s};

struct Rig {
  Recorder& push(std::string word, Flow flow, Patience patience = Patience::single, TimePoint now = kStart) {
    Recorder& command = commands.emplace_back(std::move(word));
    queue.push(command, flow, patience, now, now + (patience == Patience::single ? 25ms : 450ms));
    return command;
  }
  std::string pop(TimePoint now = kStart) {
    Command* const command = queue.pop(now);
    return command ? static_cast<Recorder*>(command)->word : "";
  }
  std::string pop_all() {
    std::string words;
    for (std::string word = pop(); !word.empty(); word = pop()) words += (words.empty() ? "" : " ") + word;
    return words;
  }
  std::string pop_overdue(TimePoint now) {
    const FairQueue::Overdue overdue = queue.pop_overdue(now);
    if (overdue.command == nullptr) return "";
    return static_cast<Recorder*>(overdue.command)->word + (overdue.had_turn ? " had a turn" : "");
  }

  std::deque<Recorder> commands;
  FairQueue queue;
};

TEST_CASE("tenants take turns, however much each has waiting") {
  Rig rig;
  for (const char* word : {"a1", "a2", "a3", "a4"}) rig.push(word, {1, 0});
  for (const char* word : {"b1", "b2"}) rig.push(word, {2, 0});
  rig.push("c1", {3, 0});
  CHECK(rig.queue.size() == 7);
  CHECK(rig.pop_all() == "a1 b1 c1 a2 b2 a3 a4");
  CHECK(rig.queue.empty());
}

TEST_CASE("within a tenant its API keys take turns, and the tenant has no more turns for having many keys") {
  Rig rig;
  for (const char* word : {"a1", "a2", "a3"}) rig.push(word, {1, 10});
  rig.push("b1", {1, 11});
  rig.push("c1", {1, 12});
  for (const char* word : {"z1", "z2", "z3"}) rig.push(word, {2, 10});
  CHECK(rig.pop_all() == "a1 z1 b1 z2 c1 z3 a2 a3");
}

TEST_CASE("single checks and checks of batches of one key take turns") {
  Rig rig;
  for (const char* word : {"batch1", "batch2", "batch3"}) rig.push(word, {1, 1}, Patience::batch);
  for (const char* word : {"one", "two"}) rig.push(word, {1, 1});
  CHECK(rig.pop_all() == "one batch1 two batch2 batch3");
}

TEST_CASE("a flow that comes later waits for one turn of each of the others") {
  Rig rig;
  for (int i = 0; i < 5; ++i) rig.push("a", {1, 0});
  CHECK(rig.pop() == "a");
  rig.push("b", {2, 0});
  CHECK(rig.pop() == "a");
  CHECK(rig.pop() == "b");
  CHECK(rig.pop() == "a");
}

TEST_CASE("overdue commands leave in the order of their age, single ones before those of batches") {
  Rig rig;
  rig.push("old", {1, 0});
  rig.push("young", {1, 0}, Patience::single, kStart + 10ms);
  rig.push("batch", {1, 0}, Patience::batch);
  CHECK(rig.queue.next_overdue() == kStart + 25ms);
  CHECK(rig.pop_overdue(kStart + 25ms - 1ns).empty());
  CHECK(rig.pop_overdue(kStart + 25ms) == "old");
  CHECK(rig.pop_overdue(kStart + 25ms).empty());
  CHECK(rig.queue.next_overdue() == kStart + 35ms);
  CHECK(rig.pop_overdue(kStart + 500ms) == "young");
  CHECK(rig.pop_overdue(kStart + 500ms) == "batch");
  CHECK(rig.queue.empty());
  CHECK(rig.queue.next_overdue() == TimePoint::max());
}

TEST_CASE("an overdue command tells whether its tenant had a turn while it waited") {
  Rig rig;
  rig.push("served before", {1, 0});
  CHECK(rig.pop(kStart) == "served before");
  for (const char* word : {"greedy 1", "greedy 2", "greedy 3"}) rig.push(word, {1, 0}, Patience::single, kStart + 1ms);
  rig.push("greedy, another key", {1, 1}, Patience::single, kStart + 1ms);
  rig.push("modest", {2, 0}, Patience::single, kStart + 1ms);
  CHECK(rig.pop(kStart + 2ms) == "greedy 1");
  CHECK(rig.pop_overdue(kStart + 1s) == "greedy 2 had a turn");
  CHECK(rig.pop_overdue(kStart + 1s) == "greedy 3 had a turn");
  CHECK(rig.pop_overdue(kStart + 1s) == "greedy, another key had a turn");
  CHECK(rig.pop_overdue(kStart + 1s) == "modest");
}

TEST_CASE("a tenant that comes back has had no turn yet") {
  Rig rig;
  rig.push("a", {1, 0});
  CHECK(rig.pop(kStart + 1h) == "a");
  rig.push("b", {1, 0}, Patience::single, kStart + 1ms);
  CHECK(rig.pop_overdue(kStart + 2h) == "b");
}

TEST_CASE("after a thousand steps drawn at random every command has left once") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    std::minstd_rand random(seed + 1);
    Rig rig;
    std::map<std::string, int> left;
    TimePoint now = kStart;
    for (int step = 0; step < 1000; ++step) {
      now += 1ms;
      const auto draw = random() % 10;
      if (draw < 6) {
        rig.push(std::to_string(step), {random() % 5, random() % 3}, random() % 2 ? Patience::batch : Patience::single,
                 now);
      } else if (draw < 9) {
        const std::string word = rig.pop(now);
        if (!word.empty()) ++left[word];
      } else if (const auto overdue = rig.queue.pop_overdue(now); overdue.command != nullptr) {
        ++left[static_cast<Recorder*>(overdue.command)->word];
      }
    }
    for (std::string word = rig.pop(now); !word.empty(); word = rig.pop(now)) ++left[word];
    CHECK(left.size() == rig.commands.size());
    for (const auto& [word, times] : left) REQUIRE(times == 1);
    CHECK(rig.queue.empty());
  }
}

}  // namespace
}  // namespace sluice::redis::test
