// What inotify tells of a file. Here nothing looks at the file by itself, so that what is not told stays unknown.
#include "engine/policies/file_watch.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace sluice::policies {
namespace {

using Event = FileWatch::Event;

class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "sluice-watch-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

void write(const std::filesystem::path& path, std::string_view text) { std::ofstream(path) << text; }

// Waits for an event; false where none comes for long.
bool told(boost::asio::io_context& loop, std::vector<Event>& events, Event wanted) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const auto there = [&] { return std::ranges::find(events, wanted) != events.end(); };
  while (!there() && std::chrono::steady_clock::now() < end) loop.run_one_until(end);
  return there();
}

}  // namespace

TEST_CASE("a file that is renamed over the watched one is told of") {
  const Folder folder;
  write(folder / "bundle.json", "1");
  write(folder / "next", "2");
  boost::asio::io_context loop;
  std::vector<Event> events;
  FileWatch watch(loop, folder / "bundle.json", [&](Event event) { events.push_back(event); });
  REQUIRE(watch.start());
  std::filesystem::rename(folder / "next", folder / "bundle.json");
  CHECK(told(loop, events, Event::replaced));
}

TEST_CASE("the directory that the path leads to by now is watched after a refresh") {
  const Folder folder;
  for (const char* name : {"one", "two"}) {
    std::filesystem::create_directory(folder / name);
    write(folder / name / "bundle.json", "1");
  }
  std::filesystem::create_directory_symlink("one", folder / "current");
  boost::asio::io_context loop;
  std::vector<Event> events;
  FileWatch watch(loop, folder / "current" / "bundle.json", [&](Event event) { events.push_back(event); });
  REQUIRE(watch.start());
  std::filesystem::create_directory_symlink("two", folder / "next");
  std::filesystem::rename(folder / "next", folder / "current");
  watch.refresh();
  write(folder / "two" / "bundle.json", "2");
  CHECK(told(loop, events, Event::replaced));
}

}  // namespace sluice::policies
