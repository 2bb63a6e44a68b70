// Reports changes of one file. With Linux' inotify, it watches the directory of the path and the directory of the file
// that the path leads to, because files are replaced by renaming.
//
// Events are only hints: network file systems send none. So the owner must also poll the file, and call refresh() each
// time. Thread: the context's.
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

namespace sluice::policies {

class FileWatch {
 public:
  enum class Event : std::uint8_t {
    replaced,  // the file was renamed into place, closed after writing, or removed
    modified,  // the file was written to, and is not closed yet
    // Another file was renamed into a watched directory: perhaps a link on the path, such as a ConfigMap's `..data`. Or
    // a watched directory was moved or removed, or inotify lost events.
    moved_nearby,
  };

  FileWatch(boost::asio::io_context& context, std::string path, std::function<void(Event)> on_event);

  // After an error no events come. If inotify works but the directories cannot be watched, each refresh() tries again.
  Result<> start();

  // Resolves the path again, because links and directories may have been replaced.
  void refresh();

 private:
  struct WatchedDirectory {
    int id;  // inotify's watch descriptor, or -1
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

}  // namespace sluice::policies
