#include "engine/policies/file_watch.hpp"

#include <fmt/core.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace sluice::policies {
namespace {

constexpr std::uint32_t kEvents =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF;

// A new file is empty at first: it is written and closed later. A hard or symbolic link has content at once.
bool will_be_written(const std::string& path) {
  struct stat found{};
  return ::lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_nlink == 1;
}

}  // namespace

FileWatch::FileWatch(boost::asio::io_context& context, std::string path, std::function<void(Event)> on_event)
    : path_(std::move(path)), on_event_(std::move(on_event)), descriptor_(context) {}

Result<> FileWatch::start() {
  int fd = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (fd < 0) return failure("inotify", fmt::format("inotify is not available: {}", std::strerror(errno)));
  descriptor_.assign(fd);
  refresh();
  wait();
  if (watched_.empty()) return failure("inotify", fmt::format("the directory of {} cannot be watched", path_));
  return {};
}

std::vector<FileWatch::WatchedDirectory> FileWatch::directories() const {
  auto directory_of = [](const std::filesystem::path& file) {
    std::string directory = file.parent_path().string();
    return WatchedDirectory{-1, directory.empty() ? "." : directory, file.filename().string()};
  };
  std::vector<WatchedDirectory> found{directory_of(path_)};
  std::error_code unknown;
  auto real = std::filesystem::canonical(path_, unknown);
  if (!unknown) found.push_back(directory_of(real));
  return found;
}

void FileWatch::refresh() {
  if (!descriptor_.is_open()) return;
  auto now = directories();
  for (WatchedDirectory& each : now) {
    each.id = ::inotify_add_watch(descriptor_.native_handle(), each.directory.c_str(), kEvents | IN_ONLYDIR);
  }
  std::erase_if(now, [](const WatchedDirectory& each) { return each.id < 0; });
  for (const WatchedDirectory& old : watched_) {
    // The path no longer goes through this directory. If the directory is gone, inotify_rm_watch() fails harmlessly.
    if (std::ranges::find(now, old.id, &WatchedDirectory::id) == now.end()) {
      ::inotify_rm_watch(descriptor_.native_handle(), old.id);
    }
  }
  watched_ = std::move(now);
}

void FileWatch::wait() {
  descriptor_.async_read_some(boost::asio::buffer(buffer_),
                              [this](const boost::system::error_code& failed, std::size_t size) {
                                if (failed) return;
                                read_events({buffer_.data(), size});
                                wait();
                              });
}

void FileWatch::read_events(std::string_view events) {
  while (events.size() >= sizeof(inotify_event)) {
    inotify_event event;
    std::memcpy(&event, events.data(), sizeof event);
    events.remove_prefix(sizeof event);
    std::string_view name = events.substr(0, event.len);
    events.remove_prefix(name.size());
    dispatch(event, name.substr(0, name.find('\0')));
  }
}

void FileWatch::dispatch(const inotify_event& event, std::string_view name) {
  // IN_IGNORED means that refresh() removed this watch, or that the directory is gone. For a directory that is gone,
  // there is another event as well.
  if ((event.mask & IN_IGNORED) != 0) return;
  bool concerns_file = false;
  for (const WatchedDirectory& each : watched_) {
    if (each.id != event.wd || each.name != name) continue;
    concerns_file = true;
    bool unfinished = (event.mask & IN_MODIFY) != 0 ||
                      ((event.mask & IN_CREATE) != 0 && will_be_written(each.directory + '/' + each.name));
    if (unfinished) return on_event_(Event::modified);
  }
  if (concerns_file) return on_event_(Event::replaced);
  if ((event.mask & (IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_Q_OVERFLOW)) != 0) on_event_(Event::moved_nearby);
}

}  // namespace sluice::policies
