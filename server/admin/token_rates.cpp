#include "server/admin/token_rates.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace sluice::server::admin {
namespace {

constexpr std::int64_t kSecond = 1'000'000;  // µs
constexpr std::array<std::string_view, 2> kNames{"reads", "writes"};

limiter::Program bucket(std::int64_t per_second) {
  Limit limit;
  limit.name = "calls";
  limit.algorithm = Algorithm::token_bucket;
  limit.limit = per_second;
  limit.rate = {.units = per_second, .per_us = kSecond};
  return limiter::compile({limit}, std::nullopt);
}

}  // namespace

TokenRates::TokenRates(PerSecond rates, const Clock& clock)
    : per_second_{rates.reads, rates.writes},
      programs_{bucket(rates.reads), bucket(rates.writes)},
      counters_(clock, 1) {
  call_.keys.resize(1);
  call_.costs.front() = 1;
}

std::optional<http::Refusal> TokenRates::charge(std::string_view token_id, bool writes) {
  const std::size_t kind = writes ? 1 : 0;
  if (per_second_.at(kind) == 0) return std::nullopt;
  call_.program = &programs_.at(kind);
  call_.keys.front() = fmt::format("{{{}|{}", token_id, kNames.at(kind));
  const auto outcome = counters_.judge(call_);
  if (!outcome || outcome->allowed) return std::nullopt;
  refused_.at(kind).fetch_add(1, std::memory_order_relaxed);
  const std::int64_t wait = std::max<std::int64_t>((outcome->report.retry_after_us + kSecond - 1) / kSecond, 1);
  return http::Refusal(429, "rate-limited",
                       fmt::format("A token may make {} {} a second on each server, and this one has made them. The "
                                   "call was not carried out.",
                                   per_second_.at(kind), kNames.at(kind)),
                       {}, fmt::format("Retry-After: {}\r\n", wait));
}

}  // namespace sluice::server::admin
