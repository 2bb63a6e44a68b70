// Reports changes of one file. Files are replaced by renaming, so FileWatch watches directories, with Linux' inotify:
// the directory of the path and, if the path is a link, the directory of the file that the link leads to.
//
// Events are only hints: network file systems send none. The owner must also poll the file, and call refresh() each
// time, because directories are replaced too. Thread: the context's.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "common/base/error.hpp"

struct inotify_event;

namespace sluice::agent::policies {

class FileWatch {
 public:
  enum class Event : std::uint8_t {
    replaced,  // renamed into place, closed after writing, removed
    modified,  // written to, and not closed yet
    // A file of another name was renamed into a watched directory: perhaps a link on the path, such as a ConfigMap's
    // `..data`. Also: a watched directory was moved or removed, or inotify lost events.
    moved_nearby,
  };

  FileWatch(boost::asio::io_context& context, std::string path, std::function<void(Event)> on_event);

  // Starts reporting. After an error no events come. If inotify is not available, that is final. If the directories
  // cannot be watched, for example because no inotify watches are left, each refresh() tries again.
  Result<> start();

  // Resolves the path again: links and directories may have been replaced.
  void refresh();

 private:
  struct WatchedDirectory {
    int id;  // inotify's watch descriptor; -1: not watched
    std::string directory;
    std::string name;  // the file's name in the directory
  };

  std::vector<WatchedDirectory> directories() const;
  void wait();
  void read_events(std::string_view events);
  void dispatch(const inotify_event& event, std::string_view name);

  const std::string path_;
  std::function<void(Event)> on_event_;
  boost::asio::posix::stream_descriptor descriptor_;
  std::vector<WatchedDirectory> watched_;
  alignas(8) std::array<char, 4096> buffer_{};
};

}  // namespace sluice::agent::policies
