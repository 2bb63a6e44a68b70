// Decides when to read the bundle file again, from the events of FileWatch and from polling the file's identity.
//
// A file is read when an event shows that it is complete and no other event follows for kQuiet. Without an event, the
// file is read when two polls, kPoll apart, find the same change. A missing file also needs two polls, because some
// editors remove a file before they write it.
//
// No I/O and no clock. Thread: one at a time.
#pragma once

#include <chrono>
#include <optional>

#include "common/base/file_identity.hpp"

namespace sluice::policies {

class ReloadSchedule {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // A file is read when it has been unchanged for this long, which is more than the coarsest resolution of file times
  // (10 ms). So every later write gives the file a new time.
  static constexpr std::chrono::milliseconds kQuiet{50};
  static constexpr std::chrono::milliseconds kMaxBurst{500};  // continuous changes delay the reading at most this long
  static constexpr std::chrono::milliseconds kPoll{2000};
  static constexpr std::chrono::seconds kPatience{10};  // how long to wait for a writer that neither writes nor closes

  ReloadSchedule(const FileIdentity& in_force, Time now) : read_(in_force), polled_(now) {}

  // One function for each FileWatch::Event; file_watch.hpp explains the events.
  void replaced(Time now);
  void modified(Time now);
  void moved_nearby(Time now);

  Time next_poll() const;

  // `found`: the identity of the file at `now`. Returns whether to read the file.
  bool poll(const FileIdentity& found, Time now);

  // Call this when the file was read, successfully or not.
  void read(const FileIdentity& identity);
  const FileIdentity& last_read() const { return read_; }

 private:
  struct Seen {
    FileIdentity file;
    Time since;
  };

  FileIdentity read_;
  Time polled_;                       // time of the last periodic poll
  std::optional<Time> due_;           // end of the current burst of events
  Time burst_began_;                  // valid while due_ is set
  std::optional<Time> last_written_;  // set until the writer has closed the file
  std::optional<Seen> unconfirmed_;   // a change that one poll has seen
};

}  // namespace sluice::policies
