#include "server/admin/token_rates.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/base/text.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::int64_t kSecond = 1'000'000;  // µs
constexpr std::array<std::string_view, 2> kNames{"reads", "writes"};
constexpr std::int64_t kRetryWithoutRate = 60 * kSecond;  // if a quota allows no call

limiter::Program bucket(std::int64_t per_second) {
  Limit limit;
  limit.name = "calls";
  limit.algorithm = Algorithm::token_bucket;
  limit.limit = per_second;
  limit.rate = {.units = per_second, .per_us = kSecond};
  return limiter::compile({limit}, std::nullopt);
}

std::string refusal_text(std::int64_t per_second, std::string_view calls,
                         const std::optional<auth::KnownQuotas::Found>& quota) {
  constexpr std::string_view kEnd = "on each server, and this one has made them. The call was not carried out.";
  if (!quota) return fmt::format("A token may make {} {} a second {}", per_second, calls, kEnd);
  return fmt::format("The quota admin_{}_per_second of {} {} allows a token {} {} a second {}", calls,
                     quota->owner_kind, quoted(quota->owner_id), per_second, calls, kEnd);
}

}  // namespace

TokenRates::TokenRates(PerSecond rates, const Clock& clock)
    : per_second_{rates.reads, rates.writes}, counters_(clock, 1) {
  call_.keys.resize(1);
  call_.costs.front() = 1;
}

std::optional<http::Refusal> TokenRates::charge(std::string_view token_id, bool writes,
                                                const std::optional<auth::KnownQuotas::Found>& quota) {
  const std::size_t kind = writes ? 1 : 0;
  const std::int64_t per_second = quota ? quota->value : per_second_.at(kind);
  if (!quota && per_second == 0) return std::nullopt;
  std::int64_t retry_after_us = kRetryWithoutRate;
  if (per_second > 0 && admits(token_id, writes, per_second, retry_after_us)) return std::nullopt;
  refused_.at(kind).fetch_add(1, std::memory_order_relaxed);
  const std::int64_t wait = std::max<std::int64_t>((retry_after_us + kSecond - 1) / kSecond, 1);
  return http::Refusal(429, "rate-limited", refusal_text(per_second, kNames.at(kind), quota), {},
                       fmt::format("Retry-After: {}\r\n", wait));
}

bool TokenRates::admits(std::string_view token_id, bool writes, std::int64_t per_second, std::int64_t& retry_after_us) {
  call_.program = &program_of(per_second);
  // The rate is part of the key, because a counter belongs to one program.
  call_.keys.front() = fmt::format("{{{}|{}:{}", token_id, kNames.at(writes ? 1 : 0), per_second);
  const auto outcome = counters_.judge(call_);
  if (!outcome || outcome->allowed) return true;
  retry_after_us = outcome->report.retry_after_us;
  return false;
}

const limiter::Program& TokenRates::program_of(std::int64_t per_second) {
  const auto found = programs_.find(per_second);
  if (found != programs_.end()) return found->second;
  if (programs_.size() >= kMaxPrograms) programs_.clear();
  return programs_.emplace(per_second, bucket(per_second)).first->second;
}

}  // namespace sluice::server::admin
