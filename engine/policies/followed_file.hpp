// Reads a file again when it has changed: by the events of FileWatch and by polling, as ReloadSchedule decides.
//
// Thread: that of the io_context. watch() and follow() are called before it runs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/base/error.hpp"
#include "engine/policies/bundle_file.hpp"
#include "engine/policies/file_watch.hpp"
#include "engine/policies/reload_schedule.hpp"

namespace sluice::policies {

class FollowedFile {
 public:
  // Any function but `read` may be absent. What they throw leaves the io_context; then poll_again() goes on.
  struct Hooks {
    std::function<void(FileText file)> read;  // it has changed, or has only been touched
    std::function<void(const Fault& fault)> unreadable;
    std::function<void()> changing;  // it has changed, but seems not to be complete
  };

  FollowedFile(boost::asio::io_context& context, std::string path, Hooks hooks);

  // Call it before the file is read for the first time, so that no later change is missed. After an error, changes are
  // noticed by polling alone.
  Result<> watch() { return watch_.start(); }
  // Follows from now on. `read`: the identity of the file that is in force. REQUIRES: it is regular.
  void follow(const FileIdentity& read);

  // Reads it even if it seems unchanged. Does nothing before follow().
  void read_now();
  void poll_again() { schedule_poll(); }  // REQUIRES: follow() was called

 private:
  void on_event(FileWatch::Event event);
  void schedule_poll();
  void poll();
  void read();

  const std::string path_;
  const Hooks hooks_;
  FileWatch watch_;
  boost::asio::steady_timer poll_timer_;
  std::optional<ReloadSchedule> schedule_;  // from follow() on
};

}  // namespace sluice::policies
