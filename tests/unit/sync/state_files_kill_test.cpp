// What is left of a save that did not end: its process was killed, or its disk was full.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <random>

#include "common/sync/state_files.hpp"
#include "tests/unit/sync/state_folder.hpp"

namespace sluice::sync {
namespace {

TEST_CASE("a disk that is full in the midst of writing leaves the state before") {
  const Folder folder;
  {
    REQUIRE(StateFiles(folder.file()).save("one"));
  }
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = StateFiles::kWriteBytes + 1000, .rlim_max = StateFiles::kWriteBytes + 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto saved = StateFiles(folder.file()).save(content_of(2));
    ::_exit(!saved && saved.error().code == "snapshot_file_unwritable" ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(loaded(folder.file()) == "one");
  CHECK(!std::filesystem::exists(folder.inside("new")));
}

// Saves content_of(number) in a process of its own that kills itself before the step `fatal`; false where it lived.
bool save_and_die(const std::string& path, int number, int fatal) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int step = 0;
    StateFiles file(path, [&](StateFiles::Step) {
      if (step++ == fatal) ::kill(::getpid(), SIGKILL);
      return 0;
    });
    ::_exit(file.save(content_of(number)) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) return true;
  REQUIRE(status == 0);
  return false;
}

TEST_CASE("a process that is killed at any step of a save leaves the state before or the new one, and nothing else") {
  const Folder folder;
  int kills = 0;
  int last = -1;  // the content that is in force
  std::mt19937 random(7);
  for (int number = 0; kills < 240; ++number) {
    // Each step in turn, the first save's too, and now and then a life without a kill.
    const int fatal = number % 11;
    const bool killed = save_and_die(folder.file(), number, fatal);
    kills += killed ? 1 : 0;
    const auto found = StateFiles(folder.file()).load();
    if (!found) {
      REQUIRE(last == -1);  // nothing was there to lose
      REQUIRE(found.error().code == "no_snapshot_file");
      continue;
    }
    REQUIRE(found->damage.empty());
    const bool is_new = found->content == content_of(number);
    REQUIRE((is_new || (last >= 0 && found->content == content_of(last))));
    REQUIRE((killed || is_new));
    if (is_new) last = number;
    // Without the newest, the one before is still there.
    if (random() % 8 == 0 && found->generation > 2) {
      const std::string newest = folder.inside(found->generation % 2 == 1 ? "1" : "2");
      const std::string text = text_of(newest);
      write_to(newest, "cut");
      const auto before = StateFiles(folder.file()).load();
      REQUIRE(before);
      REQUIRE(before->generation == found->generation - 1);
      write_to(newest, text);
    }
  }
  CHECK(last > 0);
  CHECK(folder.files() <= 4);
}

}  // namespace
}  // namespace sluice::sync
