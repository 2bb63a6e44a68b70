// Decides when to read the bundle file again, from the events of FileWatch and from polling the file's identity.
//
// A file is read when an event shows that it is complete (renamed into place, or closed after writing) and no other
// event follows for kQuiet. So a burst of changes that is shorter than kMaxBurst leads to one reading, at its end. A
// change without an event (network file systems send none) is noticed by polling: the file is read when two polls,
// kPoll apart, find the same new file. A file counts as missing only after two such polls, because some editors remove
// a file before they write it. A file that is being written is not read until its writer closes it or has paused for
// kPatience.
//
// No I/O and no clock of its own: time is a parameter. Thread: one at a time.
#pragma once

#include <chrono>
#include <optional>

#include "common/base/file_identity.hpp"

namespace sluice::agent::policies {

class ReloadSchedule {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Longer than the coarsest resolution of file times (10 ms), so that a write after a reading changes the file's time.
  static constexpr std::chrono::milliseconds kQuiet{50};
  static constexpr std::chrono::milliseconds kMaxBurst{500};  // continuous changes delay the reading at most this long
  static constexpr std::chrono::milliseconds kPoll{2000};
  static constexpr std::chrono::seconds kPatience{10};  // waits this long for a writer that neither writes nor closes

  // `in_force`: the file as it was read at the start.
  ReloadSchedule(const FileIdentity& in_force, Time now) : read_(in_force), polled_(now) {}

  void replaced(Time now);      // renamed into place, closed after writing, removed
  void modified(Time now);      // written to and not closed yet
  void moved_nearby(Time now);  // the path may lead to another file now

  // When to call poll() next.
  Time next_poll() const;

  // `found`: the identity of the file at `now`. Returns whether to read the file.
  bool poll(const FileIdentity& found, Time now);

  // To be called when the file was read, successfully or not. poll() then returns false until the file changes.
  void read(const FileIdentity& identity);
  const FileIdentity& last_read() const { return read_; }

 private:
  struct Seen {
    FileIdentity file;
    Time since;
  };

  FileIdentity read_;
  Time polled_;                       // when the last periodic poll was; these polls need no event
  std::optional<Time> due_;           // the end of the current burst of events
  Time burst_began_;                  // valid while due_ is set
  std::optional<Time> last_written_;  // set while a writer has not closed the file
  std::optional<Seen> unconfirmed_;   // a change without an event, seen by one poll so far
};

}  // namespace sluice::agent::policies
