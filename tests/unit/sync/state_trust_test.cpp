// Which state files are loaded: those that only this user can have written.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "common/sync/state_files.hpp"
#include "tests/unit/sync/state_folder.hpp"

namespace sluice::sync {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kSomebody = 65'532;

void set_mode(const std::string& path, mode_t mode) { REQUIRE(::chmod(path.c_str(), mode) == 0); }

bool may_change_owners() {
  if (::geteuid() == 0) return true;
  MESSAGE("not root, so files cannot be given to another user");
  return false;
}

void give_away(const std::string& path) { REQUIRE(::lchown(path.c_str(), kSomebody, kSomebody) == 0); }

Error refusal(const Folder& folder) {
  auto found = StateFiles(folder.file()).load();
  REQUIRE(!found);
  return found.error();
}

bool says(const Error& error, std::string_view part) { return error.text.find(part) != std::string::npos; }

// The folder with two generations, "one" and "two", as this version keeps them.
void save_two(const Folder& folder) {
  StateFiles file(folder.file());
  REQUIRE(file.save("one"));
  REQUIRE(file.save("two"));
}

// The same as a former version kept them: in files beside each other.
void save_two_as_before(const Folder& folder) {
  save_two(folder);
  for (const std::string name : {"1", "2", "lock"}) fs::rename(folder.inside(name), folder.file() + "." + name);
  fs::remove(folder.inside(""));
}

TEST_CASE("a file that others may write is refused with its mode, and the other generation is loaded") {
  for (const mode_t mode : {0620U, 0602U, 0660U, 0666U}) {
    const Folder folder;
    save_two(folder);
    set_mode(folder.inside("2"), mode);
    const auto found = StateFiles(folder.file()).load();
    REQUIRE(found);
    CHECK(found->content == "one");
    REQUIRE(found->damage.size() == 1);
    CHECK(found->damage[0].starts_with(folder.inside("2") + fmt::format(" has mode {:04o}", mode)));
    set_mode(folder.inside("1"), mode);
    const Error refused = refusal(folder);
    CHECK(refused.code == "snapshot_file_untrusted");
    CHECK(says(refused, folder.inside("1")));
    CHECK(says(refused, "the next save replaces it"));
  }
  const Folder folder;
  save_two(folder);
  for (const char* const name : {"1", "2"}) set_mode(folder.inside(name), 0644);
  CHECK(loaded(folder.file()) == "two");  // others may read it
}

TEST_CASE("a file of another user is refused, and replaced by the next save") {
  if (!may_change_owners()) return;
  const Folder folder;
  save_two(folder);
  for (const char* const name : {"1", "2"}) give_away(folder.inside(name));
  const Error refused = refusal(folder);
  CHECK(refused.code == "snapshot_file_untrusted");
  CHECK(says(refused, fmt::format("belongs to user {}, and the agent runs as user 0", kSomebody)));
  REQUIRE(StateFiles(folder.file()).save("three"));
  const auto found = StateFiles(folder.file()).load();
  REQUIRE(found);
  CHECK(found->content == "three");
  CHECK(found->generation == 1);  // what is not trusted does not count
}

TEST_CASE("a folder that others may write is refused until a save has emptied it and taken it from them") {
  for (const mode_t mode : {0770U, 0707U, 02770U, 0777U}) {
    const Folder folder;
    save_two(folder);
    set_mode(folder.inside(""), mode);
    for (int start = 0; start < 2; ++start) {
      const Error refused = refusal(folder);
      CHECK(refused.code == "snapshot_file_untrusted");
      CHECK(says(refused, folder.file() + fmt::format(".state has mode {:04o}", mode)));
    }
    CHECK(mode_of(folder.inside("")) == mode);  // loading changes nothing
    StateFiles file(folder.file());
    REQUIRE(file.save("three"));
    CHECK(mode_of(folder.inside("")) == 0700);
    CHECK(loaded(folder.file()) == "three");
    CHECK(file.load()->generation == 1);
    CHECK(folder.files() == 2);  // with the lock
  }
}

TEST_CASE("a confirmation takes a loosened folder from others too, and confirms nothing of what is in it") {
  const Folder folder;
  save_two(folder);
  set_mode(folder.inside(""), 0777);
  REQUIRE(StateFiles(folder.file()).confirm());
  CHECK(mode_of(folder.inside("")) == 0700);
  CHECK(loaded(folder.file()) == "no_snapshot_file");
}

TEST_CASE("a loosened folder that another process writes is left to that process") {
  const Folder folder;
  StateFiles first(folder.file());
  REQUIRE(first.save("one"));
  set_mode(folder.inside(""), 0770);
  CHECK(StateFiles(folder.file()).save("two").error().code == "snapshot_file_locked");
  CHECK(fs::exists(folder.inside("1")));
}

TEST_CASE("a folder of another user is neither loaded from nor written to") {
  if (!may_change_owners()) return;
  const Folder folder;
  save_two(folder);
  give_away(folder.inside(""));
  const Error refused = refusal(folder);
  CHECK(refused.code == "snapshot_file_untrusted");
  CHECK(says(refused, fmt::format(".state belongs to user {}", kSomebody)));
  CHECK(says(refused, "remove it"));
  CHECK(StateFiles(folder.file()).save("three").error().code == "snapshot_file_untrusted");
  REQUIRE(::chown(folder.inside("").c_str(), ::geteuid(), ::getegid()) == 0);
  CHECK(loaded(folder.file()) == "two");
}

TEST_CASE("a link or a file in the folder's place is neither followed nor written to") {
  const Folder folder;
  const Folder elsewhere;
  save_two(elsewhere);
  fs::create_symlink(elsewhere.inside(""), folder.file() + ".state");
  CHECK(refusal(folder).code == "snapshot_file_untrusted");
  CHECK(says(refusal(folder), "is a symbolic link"));
  CHECK(StateFiles(folder.file()).save("three").error().code == "snapshot_file_untrusted");
  CHECK(loaded(elsewhere.file()) == "two");
  fs::remove(folder.file() + ".state");
  write_to(folder.file() + ".state", "x");
  CHECK(refusal(folder).code == "snapshot_file_untrusted");
  CHECK(says(refusal(folder), "is not a folder"));
}

TEST_CASE("the folder around it may be open to everybody") {
  const Folder folder;
  set_mode(folder.path().string(), 0777);
  save_two(folder);
  CHECK(loaded(folder.file()) == "two");
}

TEST_CASE("where the folder goes while it is in use, the next save is found at its path") {
  const Folder folder;
  StateFiles file(folder.file());
  REQUIRE(file.save("one"));
  fs::rename(folder.file() + ".state", folder.file() + ".away");
  SUBCASE("nothing is in its place") {}
  SUBCASE("another folder is in its place") { folder.make_inside(); }
  REQUIRE(file.save("two"));
  CHECK(loaded(folder.file()) == "two");
  CHECK(Folder::count(folder.file() + ".away") == 2);
}

TEST_CASE("somebody else's lock file does not keep the owner of the folder from saving") {
  const Folder folder;
  folder.make_inside();
  SUBCASE("a link") { fs::create_symlink("/etc/passwd", folder.inside("lock")); }
  SUBCASE("a file of another user") {
    if (!may_change_owners()) return;
    write_to(folder.inside("lock"), "");
    give_away(folder.inside("lock"));
  }
  REQUIRE(StateFiles(folder.file()).save("one"));
  CHECK(mode_of(folder.inside("lock")) == 0600);
  CHECK(loaded(folder.file()) == "one");
}

TEST_CASE("files of a former version are loaded, and the first save takes their place") {
  const Folder folder;
  save_two_as_before(folder);
  set_mode(folder.path().string(), 0777);  // as a volume of Kubernetes
  CHECK(loaded(folder.file()) == "two");
  CHECK(Folder::count(folder.path()) == 3);
  write_to(folder.file() + ".new", "left behind");
  StateFiles file(folder.file());
  REQUIRE(file.save("three"));
  CHECK(file.load()->generation == 3);
  CHECK(Folder::count(folder.path()) == 1);
  write_to(folder.inside("1"), "nonsense");
  CHECK(loaded(folder.file()) == "two");  // the generation before came along
}

TEST_CASE("a confirmation moves the files of a former version, with the times of what it does not confirm") {
  const Folder folder;
  save_two_as_before(folder);
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(5);
  for (const char* const end : {".1", ".2"}) fs::last_write_time(folder.file() + end, long_ago);
  REQUIRE(StateFiles(folder.file()).confirm());
  CHECK(Folder::count(folder.path()) == 1);
  CHECK(loaded(folder.file()) == "two");
  CHECK(fs::last_write_time(folder.inside("1")) == long_ago);
  CHECK(fs::last_write_time(folder.inside("2")) > long_ago + std::chrono::hours(4));
}

TEST_CASE("files of a former version are held to the same rule, and stay where they are somebody else's") {
  const Folder folder;
  save_two_as_before(folder);
  set_mode(folder.file() + ".2", 0666);
  CHECK(loaded(folder.file()) == "one");
  const bool foreign = may_change_owners();
  if (foreign) {
    give_away(folder.file() + ".1");
  } else {
    set_mode(folder.file() + ".1", 0666);
  }
  CHECK(refusal(folder).code == "snapshot_file_untrusted");
  REQUIRE(StateFiles(folder.file()).save("three"));
  CHECK(loaded(folder.file()) == "three");
  CHECK(StateFiles(folder.file()).load()->generation == 1);
  CHECK_FALSE(fs::exists(folder.file() + ".2"));
  CHECK(fs::exists(folder.file() + ".1") == foreign);
}

TEST_CASE("once the folder has a state, files beside it do not count, and go") {
  const Folder folder;
  const Folder other;
  REQUIRE(StateFiles(folder.file()).save("ours"));
  REQUIRE(StateFiles(other.file()).save("theirs"));
  const auto put_beside = [&] { fs::copy_file(other.inside("1"), folder.file() + ".1"); };
  put_beside();  // as a former version does that ran in between
  CHECK(loaded(folder.file()) == "ours");
  REQUIRE(StateFiles(folder.file()).confirm());
  CHECK(loaded(folder.file()) == "ours");
  CHECK_FALSE(fs::exists(folder.file() + ".1"));
  put_beside();
  write_to(folder.inside("1"), "nonsense");
  CHECK(loaded(folder.file()) == "snapshot_file_damaged");
}

// Runs as another user what only root's tests can prepare.
TEST_CASE("a user who is not root does not load what root, or anybody else, left in the folder") {
  if (!may_change_owners()) return;
  const Folder folder;
  set_mode(folder.path().string(), 0777);
  const auto as_somebody = [](const std::function<bool()>& holds) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const bool dropped = ::setgid(kSomebody) == 0 && ::setuid(kSomebody) == 0;
      ::_exit(dropped && holds() ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return status == 0;
  };
  const auto code = [&folder] {
    const auto found = StateFiles(folder.file()).load();
    return found ? found->content : found.error().code;
  };
  save_two(folder);
  CHECK(as_somebody([&] { return code() == "snapshot_file_untrusted"; }));
  CHECK(as_somebody([&] { return StateFiles(folder.file()).save("x").error().code == "snapshot_file_untrusted"; }));
  fs::remove_all(folder.inside(""));
  CHECK(as_somebody([&] { return StateFiles(folder.file()).save("mine").has_value() && code() == "mine"; }));
  write_to(folder.inside("2"), text_of(folder.inside("1")));  // root's
  set_mode(folder.inside("2"), 0600);
  CHECK(as_somebody([&] { return code() == "mine"; }));
  CHECK(loaded(folder.file()) == "snapshot_file_untrusted");  // root trusts nobody either
}

}  // namespace
}  // namespace sluice::sync
