#include "common/sync/state_files.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "tests/unit/sync/state_folder.hpp"

namespace sluice::sync {
namespace {

using Step = StateFiles::Step;
namespace fs = std::filesystem;

TEST_CASE("what was saved is loaded, by another process too, and there is nothing before") {
  const Folder folder;
  CHECK(loaded(folder.file()) == "no_snapshot_file");
  StateFiles file(folder.file());
  REQUIRE(file.save("one"));
  CHECK(loaded(folder.file()) == "one");
  REQUIRE(file.save(std::string("two\n\0", 5)));
  CHECK(loaded(folder.file()) == std::string("two\n\0", 5));
  REQUIRE(file.save(""));
  CHECK(loaded(folder.file()).empty());
  CHECK(file.load()->generation == 3);
  CHECK(file.load()->damage.empty());
}

TEST_CASE("a state is as old as its last confirmation, which touches the newest file only") {
  const Folder folder;
  StateFiles file(folder.file());
  REQUIRE(file.confirm());  // of nothing
  REQUIRE(file.save("one"));
  REQUIRE(file.save("two"));
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(5);
  for (const char* const name : {"1", "2"}) fs::last_write_time(folder.inside(name), long_ago);
  const auto age = [&] {
    return std::chrono::system_clock::now() - std::chrono::system_clock::time_point(file.load()->written);
  };
  CHECK(age() > std::chrono::hours(4));
  StateFiles successor(folder.file());
  CHECK_FALSE(successor.confirm());  // the other one holds the lock
  REQUIRE(file.confirm());
  CHECK(age() < std::chrono::hours(1));
  CHECK(fs::last_write_time(folder.inside("1")) == long_ago);
}

TEST_CASE("the files are their owner's alone") {
  const Folder folder;
  const mode_t before = ::umask(0);
  StateFiles file(folder.file());
  REQUIRE(file.save("one"));
  REQUIRE(file.save("two"));
  ::umask(before);
  for (const char* const name : {"1", "2", "lock"}) CHECK(mode_of(folder.inside(name)) == 0600);
  CHECK(folder.files() == 3);
  CHECK(mode_of(folder.inside("")) == 0700);
  CHECK(Folder::count(folder.path()) == 1);
}

TEST_CASE("a successor goes on where the one before ended") {
  const Folder folder;
  for (int i = 0; i < 5; ++i) {
    StateFiles file(folder.file());
    REQUIRE(file.save(content_of(i)));
    CHECK(file.load()->generation == static_cast<std::uint64_t>(i) + 1);
    CHECK(loaded(folder.file()) == content_of(i));
  }
}

TEST_CASE("whatever byte of the newest file is damaged, the generation before is loaded and the damage named") {
  const Folder folder;
  StateFiles file(folder.file());
  REQUIRE(file.save("one"));
  REQUIRE(file.save("two"));
  const std::string newest = folder.inside("2");
  const std::string good = text_of(newest);
  REQUIRE(good.ends_with("\ntwo"));
  const auto check_damaged = [&](std::string_view damaged) {
    CAPTURE(damaged);
    write_to(newest, damaged);
    const auto found = file.load();
    REQUIRE(found);
    CHECK(found->content == "one");
    REQUIRE(found->damage.size() == 1);
    CHECK(found->damage[0].starts_with(newest));
  };
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    check_damaged(damaged);
    check_damaged(std::string_view(good).substr(0, i));
  }
  check_damaged(good + "x");
  write_to(newest, good);
  CHECK(loaded(folder.file()) == "two");
}

TEST_CASE("where both are damaged the error says what is wrong with each, and the next save heals it") {
  const Folder folder;
  folder.make_inside();
  write_to(folder.inside("1"), "nonsense");
  write_to(folder.inside("2"), "");
  const auto found = StateFiles(folder.file()).load();
  REQUIRE(!found);
  CHECK(found.error().code == "snapshot_file_damaged");
  CHECK(found.error().text.find("state.state/1") != std::string::npos);
  CHECK(found.error().text.find("state.state/2") != std::string::npos);
  REQUIRE(StateFiles(folder.file()).save("new"));
  CHECK(loaded(folder.file()) == "new");
}

TEST_CASE("a save replaces the damaged file or the older one, never the newest that is whole") {
  const Folder folder;
  {
    StateFiles file(folder.file());
    REQUIRE(file.save("one"));
    REQUIRE(file.save("two"));
  }
  write_to(folder.inside("2"), "nonsense");
  StateFiles file(folder.file());
  REQUIRE(file.save("three"));
  CHECK(text_of(folder.inside("1")).ends_with("\none"));
  CHECK(text_of(folder.inside("2")).ends_with("\nthree"));
}

TEST_CASE("a content that does not pass the caller's check gives way to the one before") {
  const Folder folder;
  StateFiles file(folder.file());
  REQUIRE(file.save("one"));
  REQUIRE(file.save("two"));
  const auto found = file.load([](std::string_view content) {
    return content == "two" ? std::optional<std::string>("of a newer version") : std::nullopt;
  });
  REQUIRE(found);
  CHECK(found->content == "one");
  REQUIRE(found->damage.size() == 1);
  CHECK(found->damage[0].ends_with("of a newer version"));
  CHECK(file.load([](std::string_view) { return std::optional<std::string>("no"); }).error().code ==
        "snapshot_file_damaged");
}

TEST_CASE("a second process does not write while the first may, and does when it has gone") {
  const Folder folder;
  std::optional<StateFiles> first(std::in_place, folder.file());
  REQUIRE(first->save("one"));
  StateFiles second(folder.file());
  CHECK(second.save("two").error().code == "snapshot_file_locked");
  CHECK(loaded(folder.file()) == "one");
  REQUIRE(first->save("three"));
  first.reset();
  REQUIRE(second.save("four"));
  CHECK(second.load()->generation == 3);
  CHECK(loaded(folder.file()) == "four");
}

TEST_CASE("a step that fails is an error that names its file and cause, changes nothing, and the next save succeeds") {
  for (const Step step : {Step::lock, Step::create, Step::write, Step::sync, Step::rename}) {
    for (const int cause : {ENOSPC, EROFS, EIO}) {
      const Folder folder;
      {
        REQUIRE(StateFiles(folder.file()).save("one"));
      }
      bool broken = true;
      StateFiles file(folder.file(), [&](Step at) { return broken && at == step ? cause : 0; });
      const auto saved = file.save("two");
      REQUIRE(!saved);
      CHECK(saved.error().code == "snapshot_file_unwritable");
      CHECK(saved.error().text.find(folder.file()) != std::string::npos);
      CHECK(saved.error().text.find(std::strerror(cause)) != std::string::npos);
      CHECK(loaded(folder.file()) == "one");
      CHECK(!fs::exists(folder.inside("new")));
      broken = false;
      REQUIRE(file.save("three"));
      CHECK(loaded(folder.file()) == "three");
    }
  }
}

TEST_CASE("a folder that cannot be synced is an error, and the new state is there all the same") {
  const Folder folder;
  StateFiles file(folder.file(), [](Step at) { return at == Step::sync_folder ? EIO : 0; });
  CHECK(!file.save("one"));
  CHECK(loaded(folder.file()) == "one");
  CHECK(!file.save("two"));
  CHECK(loaded(folder.file()) == "two");
}

TEST_CASE("a folder that is missing, and a state that is too large, are errors") {
  CHECK(StateFiles("/nonexistent/state").save("x").error().code == "snapshot_file_unwritable");
  CHECK(loaded("/nonexistent/state") == "no_snapshot_file");
  const Folder folder;
  const std::string large(StateFiles::kMaxContentBytes + 1, 'x');
  CHECK(StateFiles(folder.file()).save(large).error().code == "snapshot_file_too_large");
  CHECK(folder.files() == 0);
}

TEST_CASE("a pipe or a link in a file's place is not trusted, and neither waited for nor followed") {
  const Folder folder;
  folder.make_inside();
  REQUIRE(::mkfifo(folder.inside("1").c_str(), 0600) == 0);
  fs::create_symlink("/etc/passwd", folder.inside("2"));
  CHECK(loaded(folder.file()) == "snapshot_file_untrusted");
  fs::create_symlink("/etc/passwd", folder.inside("new"));
  REQUIRE(StateFiles(folder.file()).save("one"));
  CHECK(loaded(folder.file()) == "one");
}

TEST_CASE("steps come in the order that makes a state safe before it takes another's place") {
  const Folder folder;
  std::vector<Step> steps;
  StateFiles file(folder.file(), [&](Step step) { return steps.push_back(step), 0; });
  REQUIRE(file.save("one"));
  CHECK(steps ==
        std::vector{Step::lock, Step::create, Step::write, Step::write, Step::sync, Step::rename, Step::sync_folder});
}

}  // namespace
}  // namespace sluice::sync
