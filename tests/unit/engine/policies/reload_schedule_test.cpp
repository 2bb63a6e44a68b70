#include "engine/policies/reload_schedule.hpp"

#include <vector>

#include <doctest/doctest.h>

namespace sluice::policies {
namespace {

using namespace std::chrono_literals;
using Time = ReloadSchedule::Time;

// A file that was written `version` times.
FileIdentity file(std::int64_t version) {
  FileIdentity identity;
  identity.exists = identity.regular = true;
  identity.inode = 7;
  identity.size = 100;
  identity.modified_ns = version;
  return identity;
}

const Time kStart{1000s};
constexpr auto kQuiet = ReloadSchedule::kQuiet;
constexpr auto kPoll = ReloadSchedule::kPoll;

// Looks whenever it is time to, as the loader does, until `end`; the instants at which it would read.
std::vector<Time> readings(ReloadSchedule& schedule, const FileIdentity& found, Time end) {
  std::vector<Time> read;
  for (Time at = schedule.next_poll(); at <= end; at = schedule.next_poll()) {
    if (!schedule.poll(found, at)) continue;
    read.push_back(at);
    schedule.read(found);
  }
  return read;
}

}  // namespace

TEST_CASE("a file that is replaced is read once it has been quiet for a moment") {
  ReloadSchedule schedule(file(1), kStart);
  schedule.replaced(kStart + 10ms);
  CHECK(schedule.next_poll() == kStart + 10ms + kQuiet);
  CHECK_FALSE(schedule.poll(file(2), kStart + 9ms + kQuiet));
  CHECK(readings(schedule, file(2), kStart + 1min) == std::vector{kStart + 10ms + kQuiet});
}

TEST_CASE("an event without a change of the file reads nothing") {
  ReloadSchedule schedule(file(1), kStart);
  schedule.replaced(kStart);
  schedule.moved_nearby(kStart + 100ms);
  CHECK(readings(schedule, file(1), kStart + 1min).empty());
}

TEST_CASE("a burst of changes is one reading at its end") {
  ReloadSchedule schedule(file(1), kStart);
  for (int i = 0; i <= 5; ++i) schedule.replaced(kStart + i * 40ms);
  CHECK(readings(schedule, file(2), kStart + 1min) == std::vector{kStart + 200ms + kQuiet});
}

TEST_CASE("changes without a pause do not put the reading off for ever") {
  ReloadSchedule schedule(file(1), kStart);
  for (auto at = kStart; at < kStart + ReloadSchedule::kMaxBurst; at += 40ms) schedule.replaced(at);
  CHECK(schedule.next_poll() == kStart + ReloadSchedule::kMaxBurst);
  CHECK(schedule.poll(file(2), schedule.next_poll()));
  schedule.read(file(2));
  schedule.replaced(kStart + 1s);  // and what comes then is a burst of its own
  CHECK(schedule.next_poll() == kStart + 1s + kQuiet);
}

TEST_CASE("a file that changed without a word is read when two looks agree") {
  ReloadSchedule schedule(file(1), kStart);
  CHECK_FALSE(schedule.poll(file(2), kStart + kPoll));
  CHECK_FALSE(schedule.poll(file(3), kStart + 2 * kPoll));  // still changing
  CHECK(schedule.poll(file(3), kStart + 3 * kPoll));
}

TEST_CASE("two looks that agree must lie apart") {
  ReloadSchedule schedule(file(1), kStart);
  CHECK_FALSE(schedule.poll(file(2), kStart + kPoll));
  CHECK_FALSE(schedule.poll(file(2), kStart + kPoll + 1ms));
}

TEST_CASE("a change without a word that is taken back is none") {
  ReloadSchedule schedule(file(1), kStart);
  CHECK_FALSE(schedule.poll(file(2), kStart + kPoll));
  CHECK_FALSE(schedule.poll(file(1), kStart + 2 * kPoll));
  CHECK_FALSE(schedule.poll(file(2), kStart + 3 * kPoll));
  CHECK(schedule.poll(file(2), kStart + 4 * kPoll));
}

TEST_CASE("a file that is being written is left alone until it is closed") {
  ReloadSchedule schedule(file(1), kStart);
  schedule.modified(kStart);
  CHECK(readings(schedule, file(2), kStart + 9s).empty());
  schedule.replaced(kStart + 9s);
  CHECK(readings(schedule, file(3), kStart + 1min) == std::vector{kStart + 9s + kQuiet});
}

TEST_CASE("a rename beside it does not make a file that is being written whole") {
  ReloadSchedule schedule(file(1), kStart);
  schedule.modified(kStart);
  schedule.moved_nearby(kStart + 1s);
  CHECK(readings(schedule, file(2), kStart + 9s).empty());
}

TEST_CASE("a rename beside it that leads the path elsewhere is a change") {
  ReloadSchedule schedule(file(1), kStart);
  schedule.moved_nearby(kStart);
  CHECK(readings(schedule, file(2), kStart + 1s) == std::vector{kStart + kQuiet});
}

TEST_CASE("a writer that neither writes nor closes is not waited for without end") {
  ReloadSchedule schedule(file(1), kStart);
  schedule.modified(kStart);
  schedule.modified(kStart + 5s);
  auto read = readings(schedule, file(2), kStart + 1min);
  REQUIRE(read.size() == 1);
  CHECK(read[0] >= kStart + 5s + ReloadSchedule::kPatience);
  CHECK(read[0] <= kStart + 5s + ReloadSchedule::kPatience + 2 * kPoll);
}

TEST_CASE("a file that is gone for a moment is not missed, one that stays away is") {
  ReloadSchedule schedule(file(1), kStart);
  schedule.replaced(kStart);
  CHECK_FALSE(schedule.poll(FileIdentity{}, kStart + kQuiet));  // an editor removes before it writes
  schedule.replaced(kStart + 1s);
  CHECK(schedule.poll(file(2), kStart + 1s + kQuiet));
  schedule.read(file(2));

  schedule.replaced(kStart + 10s);
  auto read = readings(schedule, FileIdentity{}, kStart + 1min);
  REQUIRE(read.size() == 1);
  CHECK(read[0] >= kStart + 10s + kPoll);
  CHECK(read[0] <= kStart + 10s + 3 * kPoll);
}

TEST_CASE("a file that was read is not read again, and changes that were heard of before count no more") {
  ReloadSchedule schedule(file(1), kStart);
  schedule.replaced(kStart);
  schedule.read(file(2));  // asked for, before the burst was over
  CHECK(readings(schedule, file(2), kStart + 1min).empty());
  CHECK(schedule.last_read() == file(2));
}

}  // namespace sluice::policies
