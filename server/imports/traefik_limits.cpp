#include "server/imports/traefik_limits.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include <fmt/core.h>

#include "common/base/letter_case.hpp"
#include "common/base/text.hpp"
#include "common/domain/limit_numbers.hpp"

namespace sluice::server::imports {
namespace {

struct Criterion {
  DimensionRef key = dimension(Dimension::source_ip);
  std::optional<std::uint8_t> ipv6_prefix;  // as it is written
};

// A duration of Go ("1m30s"), or a whole number of seconds.
std::optional<Micros> duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::int64_t micros;
  };
  static constexpr std::array kUnits{Unit{"us", 1},        Unit{"µs", 1},         Unit{"ms", 1'000},
                                     Unit{"s", 1'000'000}, Unit{"m", 60'000'000}, Unit{"h", 3'600'000'000}};
  constexpr std::int64_t kMost = 1'000'000;  // of one unit: no sum overflows
  std::int64_t sum = 0;
  if (text.empty()) return std::nullopt;
  for (int parts = 0; !text.empty(); ++parts) {
    std::int64_t count = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc{} || count < 0 || count > kMost || parts == 8) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    if (text.empty() && parts == 0) return std::chrono::seconds(count);
    const std::string_view name = text.substr(0, std::min(text.find_first_of("0123456789"), text.size()));
    const auto* const unit = std::ranges::find(kUnits, name, &Unit::name);
    if (unit == kUnits.end()) return std::nullopt;
    sum += count * unit->micros;
    text.remove_prefix(name.size());
  }
  return Micros(sum);
}

void read_strategy(const YamlSource& source, const json::Value& value, Criterion& criterion) {
  Section section(source, value);
  constexpr std::string_view kTrust = "say whose X-Forwarded-For counts with the agent's --trusted-proxies";
  section.drop("depth", "whoever sends a check says which address is the client's", kTrust);
  section.drop("excludedIPs", "whoever sends a check says which address is the client's", kTrust);
  const auto prefix = section.integer("ipv6Subnet", 1, 128);
  if (prefix) criterion.ipv6_prefix = static_cast<std::uint8_t>(*prefix);
  section.note_rest("ipStrategy");
}

Criterion read_criterion(Section& owner, Dimension fallback) {
  Criterion criterion;
  criterion.key = dimension(fallback);
  const json::Value* const value = owner.take("sourceCriterion");
  if (value == nullptr) return criterion;
  Section section(owner.source(), *value);
  const auto header = section.text("requestHeaderName");
  const bool by_host = section.boolean("requestHost").value_or(false);
  const json::Value* const strategy = section.take("ipStrategy");
  section.note_rest("sourceCriterion");
  if ((header ? 1 : 0) + (by_host ? 1 : 0) + (strategy != nullptr ? 1 : 0) > 1) {
    section.draft().fault(section.place(),
                          "sourceCriterion must have one of ipStrategy, requestHeaderName and requestHost");
  }
  if (header) criterion.key = attribute(lower_case(*header));
  if (by_host) criterion.key = dimension(Dimension::service);
  if (strategy != nullptr) {
    criterion.key = dimension(Dimension::source_ip);
    read_strategy(owner.source(), *strategy, criterion);
  }
  return criterion;
}

void read_rate_limit(const YamlSource& source, const json::Value& value, std::string_view name, TraefikLimits& out) {
  Section section(source, value);
  const std::int64_t average = section.integer("average", 0, kMaxLimit).value_or(0);
  const std::int64_t burst = std::max<std::int64_t>(section.integer("burst", 0, kMaxLimit).value_or(1), 1);
  const std::string written = section.text("period").value_or("1s");
  const auto period = duration(written);
  if (!period || *period <= Micros(0) || *period > kMaxWindow) {
    section.fault("period", fmt::format("period must be a time such as 1s or 1m, not {}", quoted(written)));
  }
  const Criterion criterion = read_criterion(section, Dimension::source_ip);
  section.leave_aside({"redis"});  // where it counts
  section.note_rest("rateLimit");
  if (average == 0) {
    return section.note("average", "0 is no limit, so there is no policy for it", "give an average, or remove it");
  }
  if (criterion.ipv6_prefix) out.ipv6_prefix = criterion.ipv6_prefix;
  out.limits.push_back({bucket_limit(limit_name(name, "rate"), Algorithm::token_bucket, burst, average,
                                     period.value_or(std::chrono::seconds(1))),
                        {criterion.key}});
}

void read_in_flight(const YamlSource& source, const json::Value& value, std::string_view name, TraefikLimits& out) {
  Section section(source, value);
  section.require("amount", "it is how many requests may be in flight");
  const std::int64_t amount = section.integer("amount", 0, kMaxLimit).value_or(0);
  const Criterion criterion = read_criterion(section, Dimension::service);
  section.note_rest("inFlightReq");
  section.note("amount", "Traefik sees when a request ends; Sluice learns of it by a release",
               "release the lease of the check when the request has ended");
  if (criterion.ipv6_prefix) out.ipv6_prefix = criterion.ipv6_prefix;
  out.limits.push_back({concurrency_limit(limit_name(name, "in_flight"), amount), {criterion.key}});
}

}  // namespace

TraefikLimits read_traefik_limits(Section& middleware, std::string_view name) {
  TraefikLimits limits;
  if (const json::Value* const value = middleware.take("rateLimit"))
    read_rate_limit(middleware.source(), *value, name, limits);
  if (const json::Value* const value = middleware.take("inFlightReq"))
    read_in_flight(middleware.source(), *value, name, limits);
  return limits;
}

}  // namespace sluice::server::imports
