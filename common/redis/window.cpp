#include "common/redis/window.hpp"

#include <algorithm>

namespace sluice::redis {

void Window::answered(Duration fastest, bool full, TimePoint now) {
  if (size_ <= kFew && fastest > target_ / 2) note_busy(now);
  if (round_ends_ == TimePoint{}) begin_round(now);
  fastest_ = std::min(fastest_, fastest);
  full_ |= full;
  if (now < round_ends_) return;
  if (fastest_ > target_) {
    size_ = std::max(kLeast, size_ * 3 / 4);
  } else if (full_) {
    size_ = std::min(kMost, size_ + kStep);
  }
  begin_round(now);
}

void Window::timed_out(TimePoint now) {
  if (now < halved_until_) return;
  size_ = std::max(kLeast, size_ / 2);
  halved_until_ = now + target_;
  begin_round(now);
}

void Window::note_busy(TimePoint now) {
  if (now >= busy_until_) {
    const bool again = now < busy_until_ + busy_for_;
    busy_for_ = again ? std::min<Duration>(2 * busy_for_, kBusyForAtMost) : kBusyFor;
  }
  busy_until_ = now + busy_for_;
}

void Window::begin_round(TimePoint now) {
  round_ends_ = now + target_;
  fastest_ = Duration::max();
  full_ = false;
}

}  // namespace sluice::redis
