// Reports changes of one file, with Linux' inotify on the directory of its path. If the path is a link, also on the
// directory of the file it leads to. It watches directories, because files are replaced by renaming.
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
    replaced,      // renamed into place, closed after writing, removed
    modified,      // written to, and not closed yet
    moved_nearby,  // another name in the directory changed: perhaps a link on the path, such as a ConfigMap's `..data`
  };

  FileWatch(boost::asio::io_context& context, std::string path, std::function<void(Event)> on_event);

  // Starts reporting. Error: no event will come, for example because the system has no inotify watches left.
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
