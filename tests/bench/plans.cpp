#include "tests/bench/plans.hpp"

#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "common/base/clock.hpp"
#include "common/limiter/memory_judge.hpp"

namespace sluice::bench {
namespace {

constexpr Micros kDay = std::chrono::days(1);
constexpr std::int64_t kAmple = 1'000'000;

Limit limit_of(Algorithm algorithm, std::size_t index, Load load) {
  const bool tight = load != Load::admitted;
  Limit limit;
  limit.name = fmt::format("l{}", index);
  limit.algorithm = algorithm;
  limit.limit = tight ? 1 : kAmple;
  limit.rate = tight ? Rate{1, kDay.count()} : Rate{1, 1'000'000};  // a unit a day, or a second
  limit.window = tight ? kDay : std::chrono::minutes(index + 1);
  limit.period = Period::year;
  if (keeps_entries(algorithm)) {
    if (load != Load::denied) limit.limit = kMaxLogLimit;
    limit.window = limit.lease_ttl = tight ? kDay : kEntryLife;
  }
  return limit;
}

}  // namespace

std::vector<Limit> limits_of(Algorithm algorithm, std::size_t count, Load load) {
  std::vector<Limit> limits;
  for (std::size_t i = 0; i < count; ++i)
    limits.push_back(limit_of(algorithm, i, i + 1 == count ? load : Load::admitted));
  return limits;
}

std::string counter_key(std::size_t subject) {
  return fmt::format("sl:{{acme|subject=user%3A{:06}}}:p=orders", subject);
}

Calls::Calls(const std::vector<Limit>& limits, std::string sha)
    : program_(limiter::compile(limits, std::nullopt)), sha_(std::move(sha)) {
  call_.program = &program_;
  call_.keys.resize(1);
  call_.costs.fill(1);
  limiter::quota_periods(program_, SystemClock().now_us(), periods_);
}

void Calls::write(redis::CommandWriter& out, std::size_t subject) {
  call_.keys[0] = counter_key(subject);
  ++leases_;
  std::memcpy(call_.draw.data(), &leases_, sizeof leases_);
  const std::size_t begin = out.buffer().size();
  limiter::write_check(out, call_, periods_);
  if (sha_.empty()) return;
  const std::string_view ours = limiter::script_sha(limiter::Script::check);
  out.buffer().replace(out.buffer().find(ours, begin), ours.size(), sha_);
}

}  // namespace sluice::bench
