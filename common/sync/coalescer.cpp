#include "common/sync/coalescer.hpp"

#include <algorithm>

#include "common/base/backoff.hpp"

namespace sluice::sync {

void Coalescer::changed(Time now, Duration delay) {
  ++counters_.received;
  const Time from = now + std::max(delay, Duration::zero());
  if (wanted_) {
    ++counters_.merged;
    wanted_ = std::min(*wanted_, from);
    return;
  }
  wanted_ = from;
  unmerged_ = true;
}

void Coalescer::requested(Time now) { wanted_ = std::min(wanted_.value_or(now), now); }

std::optional<Coalescer::Time> Coalescer::due() const {
  if (running_ || !wanted_) return std::nullopt;
  return std::max(*wanted_, not_before_);
}

bool Coalescer::begin(Time now) {
  const auto when = due();
  if (!when || now < *when) return false;
  ++counters_.begun;
  running_ = true;
  wanted_.reset();
  unmerged_ = false;
  not_before_ = now + window_;
  return true;
}

void Coalescer::succeeded(bool newest) {
  running_ = false;
  if (!newest) return;
  count_merged();
  wanted_.reset();
}

void Coalescer::failed(Time now, Duration wait) {
  ++counters_.failed;
  running_ = false;
  count_merged();  // the retry covers the changes that have arrived since begin()
  wanted_ = now;
  not_before_ = std::max(not_before_, now + std::max(wait, Duration::zero()));
}

void Coalescer::count_merged() {
  if (unmerged_) ++counters_.merged;
  unmerged_ = false;
}

Coalescer::Duration jitter(Coalescer::Duration spread, double random) { return Backoff(spread, spread).next(random); }

}  // namespace sluice::sync
