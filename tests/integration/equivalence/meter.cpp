#include "tests/integration/equivalence/meter.hpp"

#include <algorithm>
#include <deque>

#include "common/domain/quota_period.hpp"

namespace sluice::test {
namespace {

using Wide = __int128;
std::int64_t floor_div(Wide a, Wide b) { return static_cast<std::int64_t>(a / b - (a % b != 0 && a < 0 ? 1 : 0)); }

// Spent, in 1/per units, of which `units` leave in a microsecond.
class Bucket final : public Meter {
 public:
  Bucket(const Limit& limit, std::optional<Micros> max_delay)
      : capacity_(static_cast<Wide>(limit.limit) * limit.rate.per_us),
        room_(capacity_ + (max_delay ? static_cast<Wide>(max_delay->count()) * limit.rate.units : 0)),
        units_(limit.rate.units),
        per_(limit.rate.per_us),
        smooth_(limit.algorithm == Algorithm::leaky_bucket && !max_delay) {}

  bool settle(std::int64_t now) override {
    since_ = std::min(since_, now);
    return false;
  }
  bool fits(std::int64_t cost, std::int64_t at) const override {
    return spent_at(at) + static_cast<Wide>(cost) * per_ <= room_;
  }
  bool untouched(std::int64_t at) const override { return spent_at(at) == 0; }
  std::int64_t left(std::int64_t at) const override { return floor_div(capacity_ - spent_at(at), per_); }
  void charge(std::int64_t cost, std::int64_t now) override {
    spent_ = spent_at(now) + static_cast<Wide>(cost) * per_;
    since_ = now;
  }
  void forget() override { spent_ = 0; }
  std::int64_t delay_before_charge(std::int64_t now) const override {
    return smooth_ ? first_time([&](std::int64_t r) { return spent_at(now + r) == 0; }) : 0;
  }
  std::int64_t delay_after_charge(std::int64_t now) const override {
    return first_time([&](std::int64_t r) { return spent_at(now + r) <= capacity_; });
  }

 private:
  Wide spent_at(std::int64_t at) const { return std::max<Wide>(0, spent_ - static_cast<Wide>(at - since_) * units_); }

  const Wide capacity_, room_, units_, per_;
  const bool smooth_;
  Wide spent_ = 0;
  std::int64_t since_ = 0;
};

class FixedWindow final : public Meter {
 public:
  explicit FixedWindow(const Limit& limit) : limit_(limit.limit), window_(limit.window.count()) {}

  bool settle(std::int64_t now) override {
    since_ = std::min(since_, now);
    return false;
  }
  bool fits(std::int64_t cost, std::int64_t at) const override { return count_at(at) + cost <= limit_; }
  bool untouched(std::int64_t at) const override { return count_at(at) == 0; }
  std::int64_t left(std::int64_t at) const override { return limit_ - count_at(at); }
  void charge(std::int64_t cost, std::int64_t now) override {
    count_ = count_at(now) + cost;
    since_ = now;
  }
  void forget() override { count_ = 0; }

 private:
  std::int64_t count_at(std::int64_t at) const { return at / window_ == since_ / window_ ? count_ : 0; }

  const std::int64_t limit_, window_;
  std::int64_t count_ = 0, since_ = 0;
};

class FirstWindow final : public Meter {
 public:
  explicit FirstWindow(const Limit& limit) : limit_(limit.limit), window_(limit.window.count()) {}

  bool settle(std::int64_t now) override {
    start_ = std::min(start_, now);
    return false;
  }
  bool fits(std::int64_t cost, std::int64_t at) const override { return count_at(at) + cost <= limit_; }
  bool untouched(std::int64_t at) const override { return count_at(at) == 0; }
  std::int64_t left(std::int64_t at) const override { return limit_ - count_at(at); }
  void charge(std::int64_t cost, std::int64_t now) override {
    if (count_at(now) == 0) start_ = now, count_ = 0;
    count_ += cost;
  }
  void forget() override { count_ = 0; }

 private:
  std::int64_t count_at(std::int64_t at) const { return at < start_ + window_ ? count_ : 0; }

  const std::int64_t limit_, window_;
  std::int64_t count_ = 0, start_ = 0;
};

class SlidingWindow final : public Meter {
 public:
  explicit SlidingWindow(const Limit& limit) : limit_(limit.limit), window_(limit.window.count()) {
    while (static_cast<Wide>(limit_) * window_ > (Wide{1} << 53) * tick_ && tick_ < 1'000'000) tick_ *= 1'000;
  }

  bool settle(std::int64_t now) override {
    since_ = std::min(since_, now);
    return false;
  }
  bool fits(std::int64_t cost, std::int64_t at) const override { return left(at) >= cost; }
  bool untouched(std::int64_t at) const override { return previous_at(at) == 0 && current_at(at) == 0; }
  std::int64_t left(std::int64_t at) const override {
    const std::int64_t ticks_left = (window_ - at % window_ + tick_ - 1) / tick_;
    return floor_div(static_cast<Wide>(limit_ - current_at(at)) * (window_ / tick_) -
                         static_cast<Wide>(previous_at(at)) * ticks_left,
                     window_ / tick_);
  }
  void charge(std::int64_t cost, std::int64_t now) override {
    const std::int64_t previous = previous_at(now), current = current_at(now) + cost;
    previous_ = previous, current_ = current, since_ = now;
  }
  void forget() override { previous_ = current_ = 0; }

 private:
  std::int64_t windows_since(std::int64_t at) const { return at / window_ - since_ / window_; }
  std::int64_t current_at(std::int64_t at) const { return windows_since(at) == 0 ? current_ : 0; }
  std::int64_t previous_at(std::int64_t at) const {
    return windows_since(at) == 0 ? previous_ : windows_since(at) == 1 ? current_ : 0;
  }

  const std::int64_t limit_, window_;
  std::int64_t tick_ = 1;
  std::int64_t previous_ = 0, current_ = 0, since_ = 0;
};

class Quota final : public Meter {
 public:
  explicit Quota(const Limit& limit) : limit_(limit.limit), period_(limit.period), anchor_(limit.anchor) {}

  bool settle(std::int64_t now) override {
    since_ = std::min(since_, now);
    return false;
  }
  bool fits(std::int64_t cost, std::int64_t at) const override { return count_at(at) + cost <= limit_; }
  bool untouched(std::int64_t at) const override { return count_at(at) == 0; }
  std::int64_t left(std::int64_t at) const override { return limit_ - count_at(at); }
  void charge(std::int64_t cost, std::int64_t now) override {
    count_ = count_at(now) + cost;
    since_ = now;
  }
  void forget() override { count_ = 0; }

 private:
  std::int64_t count_at(std::int64_t at) const {
    return period_at(period_, anchor_, at) == period_at(period_, anchor_, since_) ? count_ : 0;
  }

  const std::int64_t limit_;
  const Period period_;
  const std::optional<WallTime> anchor_;
  std::int64_t count_ = 0, since_ = 0;
};

class Log final : public Meter {
 public:
  explicit Log(const Limit& limit) : limit_(limit.limit), window_(limit.window.count()) {}

  bool settle(std::int64_t now) override {
    if (!entries_.empty() && entries_.back().time > now + window_) entries_.clear();
    return false;
  }
  bool fits(std::int64_t cost, std::int64_t at) const override { return sum_at(at) + cost <= limit_; }
  bool untouched(std::int64_t at) const override { return sum_at(at) == 0; }
  std::int64_t left(std::int64_t at) const override { return limit_ - sum_at(at); }
  void charge(std::int64_t cost, std::int64_t now) override {
    while (!entries_.empty() && entries_.front().time <= now - window_) entries_.pop_front();
    entries_.push_back({entries_.empty() ? now : std::max(now, entries_.back().time), cost});
  }
  void forget() override { entries_.clear(); }
  void begin(const Meter& base, std::int64_t, std::int64_t now) override {
    const auto& log = static_cast<const Log&>(base);
    std::int64_t sum = 0;  // beyond its limit the plan's counter remembers nothing
    for (auto entry = log.entries_.rbegin(); entry != log.entries_.rend(); ++entry) {
      if (entry->time <= now - log.window_ || sum >= std::max<std::int64_t>(1, log.limit_)) break;
      entries_.push_front(*entry);
      sum += entry->cost;
    }
  }

 private:
  struct Entry {
    std::int64_t time, cost;
  };
  std::int64_t sum_at(std::int64_t at) const {
    std::int64_t sum = 0;
    for (const Entry& entry : entries_) sum += entry.time > at - window_ ? entry.cost : 0;
    return sum;
  }

  const std::int64_t limit_, window_;
  std::deque<Entry> entries_;
};

class Leases final : public Meter {
 public:
  explicit Leases(const Limit& limit) : limit_(limit.limit), ttl_(limit.lease_ttl.count()) {}

  bool settle(std::int64_t now) override {
    return std::erase_if(leases_, [&](const Lease& lease) { return lease.expires > now + 2 * ttl_; }) > 0;
  }
  bool fits(std::int64_t cost, std::int64_t at) const override { return weight_at(at) + cost <= limit_; }
  bool untouched(std::int64_t at) const override { return weight_at(at) == 0; }
  std::int64_t left(std::int64_t at) const override { return limit_ - weight_at(at); }
  void charge(std::int64_t cost, std::int64_t now) override {
    std::erase_if(leases_, [&](const Lease& lease) { return lease.expires <= now; });
    leases_.push_back({next_, cost, now + ttl_});
  }
  void forget() override { leases_.clear(); }
  bool release(const std::string& member, std::int64_t now) override {
    auto lease = std::ranges::find(leases_, member, &Lease::member);
    if (lease == leases_.end()) return false;
    const bool live = is_live(*lease, now);
    leases_.erase(lease);
    return live;
  }
  std::int64_t renew(const std::string& member, std::int64_t now) override {
    auto lease = std::ranges::find(leases_, member, &Lease::member);
    if (lease == leases_.end() || !is_live(*lease, now)) return 0;
    return lease->expires = now + ttl_;
  }
  void name_next(const std::string& member) override { next_ = member; }

 private:
  struct Lease {
    std::string member;
    std::int64_t weight, expires;
  };
  bool is_live(const Lease& lease, std::int64_t now) const {
    return lease.expires > now && lease.expires <= now + 2 * ttl_;
  }
  std::int64_t weight_at(std::int64_t at) const {
    std::int64_t sum = 0;
    for (const Lease& lease : leases_) sum += lease.expires > at ? lease.weight : 0;
    return sum;
  }

  const std::int64_t limit_, ttl_;
  std::deque<Lease> leases_;
  std::string next_;
};

}  // namespace

std::unique_ptr<Meter> meter_of(const Limit& limit, std::optional<Micros> max_delay) {
  switch (limit.algorithm) {
    case Algorithm::token_bucket:
    case Algorithm::leaky_bucket:
      return std::make_unique<Bucket>(limit, max_delay);
    case Algorithm::fixed_window:
      if (limit.align == Align::first) return std::make_unique<FirstWindow>(limit);
      return std::make_unique<FixedWindow>(limit);
    case Algorithm::sliding_window:
      return std::make_unique<SlidingWindow>(limit);
    case Algorithm::sliding_window_log:
      return std::make_unique<Log>(limit);
    case Algorithm::concurrency:
      return std::make_unique<Leases>(limit);
    case Algorithm::quota:
      break;
  }
  return std::make_unique<Quota>(limit);
}

}  // namespace sluice::test
