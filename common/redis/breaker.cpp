#include "common/redis/breaker.hpp"

#include <algorithm>

namespace sluice::redis {

void Breaker::count(Outcomes outcomes, TimePoint now, double random) {
  if (state_ != State::closed) return;
  turn_quarters(now);
  quarters_[quarter_].succeeded += outcomes.succeeded;
  quarters_[quarter_].failed += outcomes.failed;
  if (outcomes.succeeded > 0) failures_ = 0;
  if (outcomes.failed == 0) return;
  if (failures_ == 0) failing_since_ = now;
  failures_ += outcomes.failed;
  const bool always = failures_ >= kFailures && now - failing_since_ >= kFailingTime;
  if (always || fails_too_often()) open(now, random);
}

void Breaker::turn_quarters(TimePoint now) {
  if (now < quarter_ends_) return;
  const auto passed = static_cast<std::size_t>(std::min<std::int64_t>((now - quarter_ends_) / kQuarter, 3)) + 1;
  for (std::size_t i = 0; i < passed; ++i) {
    quarter_ = (quarter_ + 1) % quarters_.size();
    quarters_[quarter_] = {};
  }
  quarter_ends_ = now + kQuarter;
}

bool Breaker::fails_too_often() const {
  Outcomes sum;
  for (const Outcomes& each : quarters_) {
    sum.succeeded += each.succeeded;
    sum.failed += each.failed;
  }
  const auto failing = std::ranges::count_if(quarters_, [](const Outcomes& each) { return each.failed > 0; });
  return sum.succeeded + sum.failed >= kRateOutcomes && sum.failed >= sum.succeeded && failing >= 3;
}

void Breaker::open(TimePoint now, double random) {
  state_ = State::open;
  failures_ = 0;
  quarters_ = {};
  probe_failed(now, random);
}

void Breaker::probe_succeeded() {
  if (state_ == State::open) state_ = State::half_open;
}

void Breaker::probe_failed(TimePoint now, double random) {
  const auto quarter = static_cast<double>(std::chrono::nanoseconds(probe_every_).count()) / 4;
  next_probe_ = now + probe_every_ + std::chrono::nanoseconds(static_cast<std::int64_t>(random * quarter));
}

void Breaker::trial_ended(bool succeeded, TimePoint now, double random) {
  if (state_ != State::half_open) return;
  if (succeeded) {
    state_ = State::closed;
  } else {
    open(now, random);
  }
}

std::string_view to_string(Breaker::State state) {
  switch (state) {
    case Breaker::State::closed:
      return "closed";
    case Breaker::State::half_open:
      return "half_open";
    case Breaker::State::open:
      return "open";
  }
  return "";
}

}  // namespace sluice::redis
