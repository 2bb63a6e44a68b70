#include "engine/policies/reload_schedule.hpp"

#include <algorithm>

namespace sluice::policies {

void ReloadSchedule::replaced(Time now) {
  last_written_.reset();
  moved_nearby(now);
}

void ReloadSchedule::moved_nearby(Time now) {
  if (!due_) burst_began_ = now;
  due_ = std::min(now + kQuiet, burst_began_ + kMaxBurst);
}

void ReloadSchedule::modified(Time now) { last_written_ = now; }

ReloadSchedule::Time ReloadSchedule::next_poll() const {
  Time periodic = polled_ + kPoll;
  return due_ ? std::min(*due_, periodic) : periodic;
}

bool ReloadSchedule::poll(const FileIdentity& found, Time now) {
  bool announced = due_ && now >= *due_;
  if (announced) due_.reset();
  if (now >= polled_ + kPoll) polled_ = now;
  if (found == read_) {
    unconfirmed_.reset();
    return false;
  }
  if (last_written_ && now < *last_written_ + kPatience) return false;  // a writer has not closed the file yet
  if (announced && found.exists) return true;
  if (due_) return false;  // the poll at the end of the burst decides
  // After a change without a file event, or for a missing file, two polls must find the same FileIdentity.
  if (!unconfirmed_ || unconfirmed_->file != found) {
    unconfirmed_ = {found, now};
    return false;
  }
  return now >= unconfirmed_->since + kPoll;
}

void ReloadSchedule::read(const FileIdentity& identity) {
  read_ = identity;
  unconfirmed_.reset();
}

}  // namespace sluice::policies
