// The calls that wait for an answer and have a deadline, and when to look at them next.
//
// Deadlines are rounded up to kGrain, so an alarm rings at most once in that time. Calls mostly come with the deadlines
// of those before them, which makes adding one cheap. Nothing here allocates. Thread safety: none; it belongs to its
// server's thread.
#pragma once

#include <chrono>

#include <boost/intrusive/set.hpp>

namespace sluice::grpc {

// A clock, and a timer that can be set to one time. The owner of the timer calls Dispatcher::on_alarm().
class Alarm {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual Time now() const = 0;
  // Replaces the time before. Returns false if there is no memory for it; then the alarm is not set.
  virtual bool set(Time at) noexcept = 0;

 protected:
  ~Alarm() = default;
};

class Deadlines;

class DeadlineHolder
    : public boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  Alarm::Time deadline() const { return deadline_; }
  bool is_watched() const { return is_linked(); }
  void forget_deadline() noexcept {
    if (is_linked()) unlink();
  }

 protected:
  ~DeadlineHolder() = default;

 private:
  friend class Deadlines;
  virtual void on_deadline() = 0;  // the holder is not watched any more

  Alarm::Time deadline_;
};

class Deadlines {
 public:
  using Time = Alarm::Time;

  static constexpr std::chrono::milliseconds kGrain{5};

  explicit Deadlines(Alarm& alarm) : alarm_(alarm) {}

  // REQUIRES: `holder` is not watched.
  void watch(DeadlineHolder& holder, Time deadline) {
    holder.deadline_ = std::chrono::ceil<Grain>(deadline);
    waiting_.insert(waiting_.end(), holder);
    arm();
  }

  // Makes good that there was no memory for the alarm.
  void on_tick(Time now) {
    if (armed_for_ == Time::max()) on_alarm(now);
  }

  // Ends what is due, and sets the alarm for what is next. Further calls do no harm.
  void on_alarm(Time now) {
    armed_for_ = Time::max();
    while (!waiting_.empty() && waiting_.begin()->deadline_ <= now) {
      DeadlineHolder& due = *waiting_.begin();
      due.unlink();
      due.on_deadline();
    }
    arm();
  }

 private:
  using Grain = std::chrono::duration<std::chrono::milliseconds::rep, std::ratio<kGrain.count(), 1000>>;
  struct Earlier {
    bool operator()(const DeadlineHolder& a, const DeadlineHolder& b) const { return a.deadline_ < b.deadline_; }
  };

  // Calls that end in time leave the alarm as it is: it then rings once for nothing.
  void arm() {
    if (waiting_.empty() || waiting_.begin()->deadline_ >= armed_for_) return;
    const Time next = waiting_.begin()->deadline_;
    armed_for_ = Time::max();
    if (alarm_.set(next)) armed_for_ = next;
  }

  Alarm& alarm_;
  boost::intrusive::multiset<DeadlineHolder, boost::intrusive::compare<Earlier>,
                             boost::intrusive::constant_time_size<false>>
      waiting_;
  Time armed_for_ = Time::max();
};

}  // namespace sluice::grpc
