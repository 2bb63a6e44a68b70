// When the bundle file is read again: what was heard of the file and what it looks like in, "read it now" out.
//
// A file is read when somebody said that it is whole (it was renamed into place, or closed after writing) and nothing
// more was heard for kQuiet: a burst of changes is one reading, at its end. A file that changed without a word (a file
// system that tells nothing) is read when two looks kPoll apart agree; and so is one that is gone, because some editors
// write by removing first. A file that is being written is left alone until it is closed.
//
// No I/O and no clock of its own: tests drive it by hand. Thread: one at a time.
#pragma once

#include <chrono>
#include <optional>

#include "agent/policies/file_identity.hpp"

namespace sluice::agent::policies {

class ReloadSchedule {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Longer than the coarsest tick of file times (10 ms): what is written after a reading has another time than before.
  static constexpr std::chrono::milliseconds kQuiet{50};
  static constexpr std::chrono::milliseconds kLongestBurst{500};  // changes without a pause do not put it off for ever
  static constexpr std::chrono::milliseconds kPoll{2000};
  static constexpr std::chrono::seconds kPatience{10};  // for a writer that neither writes nor closes

  // `in_force`: the file as it was read at the start.
  ReloadSchedule(const FileIdentity& in_force, Time now) : read_(in_force), polled_(now) {}

  void replaced(Time now);      // renamed into place, closed after writing, removed
  void modified(Time now);      // written to and not closed yet
  void moved_nearby(Time now);  // the path may lead to another file now

  // When to look at the file next.
  Time next_look() const;

  // The file as it is `now`: true where it is to be read.
  bool look(const FileIdentity& found, Time now);

  // It was read, well or not: nothing is to do until it changes.
  void read(const FileIdentity& as);
  const FileIdentity& last_read() const { return read_; }

 private:
  struct Seen {
    FileIdentity file;
    Time since;
  };

  FileIdentity read_;
  Time polled_;                       // when it was last looked at because it was time to
  std::optional<Time> due_;           // the end of the burst that is going on
  Time burst_began_;                  // with due_
  std::optional<Time> last_written_;  // and not closed since
  std::optional<Seen> unconfirmed_;   // changed without a word
};

}  // namespace sluice::agent::policies
