#include "common/sync/coalescer.hpp"

#include <algorithm>

#include "common/base/backoff.hpp"

namespace sluice::sync {

void Coalescer::invalidated(Time now, Duration spread) {
  ++counters_.received;
  const Time from = now + std::max(spread, Duration::zero());
  if (wanted_) {
    ++counters_.folded;
    wanted_ = std::min(*wanted_, from);
    return;
  }
  wanted_ = from;
  owed_ = true;
}

void Coalescer::requested(Time now) { wanted_ = std::min(wanted_.value_or(now), now); }

std::optional<Coalescer::Time> Coalescer::due() const {
  if (going_on_ || !wanted_) return std::nullopt;
  return std::max(*wanted_, not_before_);
}

bool Coalescer::begin(Time now) {
  const auto when = due();
  if (!when || now < *when) return false;
  ++counters_.begun;
  going_on_ = true;
  wanted_.reset();
  owed_ = false;
  not_before_ = now + window_;
  return true;
}

void Coalescer::succeeded(bool newest) {
  going_on_ = false;
  if (!newest) return;
  fold_owed();
  wanted_.reset();
}

void Coalescer::failed(Time now, Duration wait) {
  ++counters_.failed;
  going_on_ = false;
  fold_owed();  // the retry covers the waiting invalidation too
  wanted_ = now;
  not_before_ = std::max(not_before_, now + std::max(wait, Duration::zero()));
}

void Coalescer::fold_owed() {
  if (owed_) ++counters_.folded;
  owed_ = false;
}

Coalescer::Duration jitter(Coalescer::Duration spread, double random) { return Backoff(spread, spread).next(random); }

}  // namespace sluice::sync
