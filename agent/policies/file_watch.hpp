// Tells what happens to one file: Linux' inotify on the directory of its path and, where the path is a link, on the
// directory of the file it leads to. Directories, because files are replaced by renaming.
//
// A hint, and no more: network file systems tell nothing. Whoever needs to know also looks at the file now and then,
// and calls refresh() with it, because directories are replaced too. Thread: the context's.
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
    moved_nearby,  // another name was: perhaps a link it is reached by, as a ConfigMap's `..data` is
  };

  FileWatch(boost::asio::io_context& context, std::string path, std::function<void(Event)> on_event);

  // Begins to tell. An error: nothing will be told (the system has no watches left).
  Result<> start();

  // Follows the path anew: links and directories may have been replaced.
  void refresh();

 private:
  struct Watched {
    int id;
    std::string directory;
    std::string name;  // the file's, in it
  };

  std::vector<Watched> places() const;
  void wait();
  void take(std::string_view events);
  void tell(const inotify_event& event, std::string_view name);

  const std::string path_;
  std::function<void(Event)> on_event_;
  boost::asio::posix::stream_descriptor descriptor_;
  std::vector<Watched> watched_;
  alignas(8) std::array<char, 4096> buffer_{};
};

}  // namespace sluice::agent::policies
