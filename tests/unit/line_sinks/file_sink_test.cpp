#include "common/line_sinks/file_sink.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <string>

#include "tests/unit/line_sinks/log_folder.hpp"

using namespace sluice;
using namespace sluice::line_sinks;
using namespace std::chrono_literals;

namespace {

// As a LineWriter does: repeats what is left until all is written. Returns the first error's code.
std::string write_all(FileSink& sink, std::string_view text) {
  while (!text.empty()) {
    const auto written = sink.write(text);
    text.remove_prefix(written.bytes);
    if (written.error) return written.error->code;
  }
  return {};
}

FileOptions options(const LogFolder& folder, std::uint64_t rotate_size, std::uint32_t keep = 3) {
  return {.path = folder.path("d.log"), .rotate_size = rotate_size, .keep = keep};
}

// Files of this process end at `bytes`.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace

TEST_CASE("Lines are added to the end of a file") {
  const LogFolder folder;
  folder.write("d.log", "before\n");
  FileSink sink(options(folder, 0));
  CHECK(write_all(sink, "one\ntwo\n").empty());
  CHECK(write_all(sink, "three\n").empty());
  CHECK(folder.text("d.log") == "before\none\ntwo\nthree\n");
}

TEST_CASE("A new log file is not for everybody") {
  const LogFolder folder;
  FileSink sink(options(folder, 0));
  CHECK(write_all(sink, "one\n").empty());
  struct stat found{};
  REQUIRE(::stat(folder.path("d.log").c_str(), &found) == 0);
  CHECK((found.st_mode & 0007) == 0);
}

TEST_CASE("A full file is renamed between two lines, and the oldest file is replaced") {
  const LogFolder folder;
  FileSink sink(options(folder, 10, 2));
  CHECK(write_all(sink, "aaaa\nbbbb\n").empty());
  CHECK_FALSE(folder.has("d.log.1"));
  CHECK(write_all(sink, "cccc\ndddd\neeee\nffff\n").empty());
  CHECK(folder.text("d.log.2") == "aaaa\nbbbb\n");
  CHECK(folder.text("d.log.1") == "cccc\ndddd\n");
  CHECK(folder.text("d.log") == "eeee\nffff\n");
  CHECK(write_all(sink, "gggg\n").empty());
  CHECK(folder.text("d.log.2") == "cccc\ndddd\n");
  CHECK(folder.text("d.log.1") == "eeee\nffff\n");
  CHECK(folder.text("d.log") == "gggg\n");
  CHECK_FALSE(folder.has("d.log.3"));
}

TEST_CASE("No file is longer than its size, but for a line that is") {
  const LogFolder folder;
  FileSink sink(options(folder, 10));
  CHECK(write_all(sink, "aaaa\nbbbbbbbbbbbbbbbb\ncccc\ndddddd\n").empty());
  CHECK(folder.text("d.log.3") == "aaaa\n");
  CHECK(folder.text("d.log.2") == "bbbbbbbbbbbbbbbb\n");
  CHECK(folder.text("d.log.1") == "cccc\n");
  CHECK(folder.text("d.log") == "dddddd\n");
}

TEST_CASE("A file that is full at the start is renamed before the first line") {
  const LogFolder folder;
  folder.write("d.log", "aaaa\nbbbb\n");
  FileSink sink(options(folder, 10));
  CHECK(write_all(sink, "cccc\n").empty());
  CHECK(folder.text("d.log.1") == "aaaa\nbbbb\n");
  CHECK(folder.text("d.log") == "cccc\n");
}

TEST_CASE("A gap among the old files ends the renaming") {
  const LogFolder folder;
  folder.write("d.log", "new\n");
  folder.write("d.log.1", "old\n");
  folder.write("d.log.3", "oldest\n");
  FileSink sink(options(folder, 4));
  CHECK(write_all(sink, "one\n").empty());
  CHECK(folder.text("d.log.1") == "new\n");
  CHECK(folder.text("d.log.2") == "old\n");
  CHECK(folder.text("d.log.3") == "oldest\n");
}

TEST_CASE("If the file cannot be renamed, it grows, and the next attempt comes later") {
  const LogFolder folder;
  FileSink::Time now{};
  FileSink sink(options(folder, 10, 1), [&now] { return now; });
  std::filesystem::create_directory(folder.path("d.log.1"));
  CHECK(write_all(sink, "aaaa\nbbbb\n").empty());
  std::string text = "aaaa\nbbbb\n";
  for (const std::string line : {"cccc\n", "dddd\n"}) {
    const auto written = sink.write(line);
    CHECK(written.bytes == line.size());
    REQUIRE(written.error);
    CHECK(written.error->code == "log_file_not_rotated");
    text += line;
    CHECK(folder.text("d.log") == text);
  }
  std::filesystem::remove(folder.path("d.log.1"));
  CHECK(sink.write("eeee\n").error);  // not tried again yet
  now += FileSink::kRotateAgain;
  CHECK(write_all(sink, "ffff\n").empty());
  CHECK(folder.text("d.log.1") == text + "eeee\n");
  CHECK(folder.text("d.log") == "ffff\n");
}

TEST_CASE("A file that somebody renamed is left alone, and a new one begins") {
  const LogFolder folder;
  FileSink sink(options(folder, 0));
  CHECK(write_all(sink, "one\n").empty());
  std::filesystem::rename(folder.path("d.log"), folder.path("d.log.old"));
  CHECK(write_all(sink, "two\n").empty());
  CHECK(folder.text("d.log.old") == "one\n");
  CHECK(folder.text("d.log") == "two\n");
}

TEST_CASE("A file that somebody renamed and made anew is found") {
  const LogFolder folder;
  FileSink sink(options(folder, 0));
  CHECK(write_all(sink, "one\n").empty());
  std::filesystem::rename(folder.path("d.log"), folder.path("d.log.old"));
  folder.write("d.log", "");
  CHECK(write_all(sink, "two\n").empty());
  CHECK(folder.text("d.log") == "two\n");
}

TEST_CASE("A file that somebody truncated goes on from its begin, and has its full size again") {
  const LogFolder folder;
  FileSink sink(options(folder, 10));
  CHECK(write_all(sink, "aaaa\nbbbb\n").empty());
  std::filesystem::resize_file(folder.path("d.log"), 0);
  CHECK(write_all(sink, "cccc\ndddd\n").empty());
  CHECK(folder.text("d.log") == "cccc\ndddd\n");
  CHECK_FALSE(folder.has("d.log.1"));
}

TEST_CASE("While the folder is away nothing is taken, and its return is noticed") {
  const LogFolder folder;
  std::filesystem::create_directory(folder.path("logs"));
  FileSink sink({.path = folder.path("logs/d.log")});
  CHECK(write_all(sink, "one\n").empty());
  std::filesystem::remove_all(folder.path("logs"));
  const auto written = sink.write("two\n");
  CHECK(written.bytes == 0);
  CHECK(written.lost == 0);
  REQUIRE(written.error);
  CHECK(written.error->code == "log_file_not_opened");
  CHECK(written.error->text == folder.path("logs/d.log") + " cannot be opened: No such file or directory");
  std::filesystem::create_directory(folder.path("logs"));
  CHECK(write_all(sink, "two\n").empty());
  CHECK(folder.text("logs/d.log") == "two\n");
}

TEST_CASE("A full disk takes whole lines only, and the rest when there is room again") {
  const LogFolder folder;
  FileSink sink(options(folder, 0));
  const std::string text = "aaaa\nbbbb\ncccc\n";
  std::string_view rest = text;
  {
    const FileLimit limit(12);
    const auto written = sink.write(rest);
    CHECK(written.bytes == 10);
    CHECK(written.lost == 0);
    REQUIRE(written.error);
    CHECK(written.error->code == "log_file_not_written");
    CHECK(folder.text("d.log") == "aaaa\nbbbb\n");
    rest.remove_prefix(written.bytes);
    const auto again = sink.write(rest);
    CHECK(again.bytes == 0);
    CHECK(again.error);
    CHECK(folder.text("d.log") == "aaaa\nbbbb\n");
  }
  CHECK(write_all(sink, rest).empty());
  CHECK(folder.text("d.log") == text);
}

TEST_CASE("A path that is no regular file is refused, even a FIFO that nobody reads") {
  const LogFolder folder;
  REQUIRE(::mkfifo(folder.path("fifo").c_str(), 0600) == 0);
  for (const std::string& path : {std::string("/dev/null"), folder.path("fifo")}) {
    CAPTURE(path);
    FileSink sink({.path = path});
    const auto written = sink.write("one\n");
    REQUIRE(written.error);
    CHECK(written.error->code == "log_file_not_opened");
  }
}
