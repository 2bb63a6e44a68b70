// Plans: lists of limits, and how they are enforced.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.hpp"
#include "common/domain/dimension.hpp"

namespace sluice {

using Metadata = std::map<std::string, std::string>;

enum class Algorithm : std::uint8_t {
  token_bucket,
  leaky_bucket,
  fixed_window,
  sliding_window,
  sliding_window_log,
  concurrency,
  quota
};
// Where a fixed window starts: at a multiple of the window since 1970, or with the first request.
enum class Align : std::uint8_t { epoch, first };
enum class Period : std::uint8_t { hour, day, week, month, year };

// The rate of a bucket: `units` per `per_us` microseconds, in lowest terms. A limit without a rate has 0 `units`.
struct Rate {
  std::int64_t units = 0;
  std::int64_t per_us = 1;

  bool operator==(const Rate&) const = default;
};

inline constexpr std::size_t kMaxLimitsPerPlan = 16;
inline constexpr std::int64_t kMaxCost = 2'147'483'647;
inline constexpr std::int64_t kMaxLimit = std::int64_t{1} << 50;  // of limit, capacity, and capacity · rate.per_us
inline constexpr std::int64_t kMaxLogLimit = 10'000;              // of limit in sliding_window_log and concurrency

// The algorithm determines which fields are used; all other fields keep their defaults.
struct Limit {
  std::string name;  // unique within the plan: [a-z0-9_][a-z0-9_.-]{0,62}
  Algorithm algorithm = Algorithm::token_bucket;
  std::string unit = "requests";
  std::int64_t limit = 0;            // in units; for a bucket the capacity; 0 denies everything
  Rate rate;                         // token_bucket: refill, leaky_bucket: leak
  Micros window{0};                  // fixed_window, sliding_window, sliding_window_log
  Align align = Align::epoch;        // fixed_window
  Micros lease_ttl{0};               // concurrency
  Period period = Period::day;       // quota
  std::optional<WallTime> anchor;    // quota
  std::vector<DimensionRef> key_by;  // added to the key_by of the policy or plan; sorted, no duplicates
  std::int64_t max_override = 0;     // the largest limit that a check may bring (`limit_override`); 0: none

  std::int64_t largest() const { return limit < max_override ? max_override : limit; }
  bool operator==(const Limit&) const = default;
};

// docs/guide/policies.md describes each action.
enum class Action : std::uint8_t { allow, deny, delay, sample, drop, downgrade, drop_low_priority, shadow_only };
// In shadow mode limits are judged and reported, but not enforced. In mode off they are not even judged.
enum class Mode : std::uint8_t { enforce, shadow, off };
enum class FailureMode : std::uint8_t { fail_closed, fail_open, fail_degrade };
enum class DegradeAction : std::uint8_t { local_limit, downgrade };
// Which rate limit headers a reply has. Retry-After of a denial is always there.
enum class Expose : std::uint8_t { all, remaining, none };
// The dimensions that a check must have, else it is refused with 422.
enum class RequiredDimensions : std::uint8_t {
  none,     // an absent dimension is a value of its own in the counter key
  subject,  // key_by is the default that nobody wrote: not every request is about a resource
  key_by
};
// How analytics show the subjects that a policy throttles.
enum class ReportSubjects : std::uint8_t { hashed, named, off };

// The enforcement of a policy, or of a plan that a check names.
struct Enforcement {
  std::vector<DimensionRef> key_by{{Dimension::resource, ""}, {Dimension::subject, ""}};  // sorted, no duplicates
  std::uint8_t ipv6_prefix = 64;  // bits of an IPv6 source_ip that name a counter; an end user has a whole /64
  RequiredDimensions required = RequiredDimensions::none;
  Expose expose = Expose::all;
  Action action = Action::deny;
  double sample_rate = 0;  // the share of requests that pass with action sample, 0 to 1
  Micros max_delay{0};
  std::string downgrade_to;  // for action downgrade and degrade_action downgrade
  Mode mode = Mode::enforce;
  FailureMode failure_mode = FailureMode::fail_closed;
  std::optional<FailureMode> failure_mode_when_open;  // while the circuit breaker is open; absent: failure_mode
  std::optional<double> degrade_share;  // share of each limit that one agent admits, 0 to 1; absent: 1 / live agents
  DegradeAction degrade_action = DegradeAction::local_limit;

  bool operator==(const Enforcement&) const = default;
};

struct Plan {
  std::string tenant_id;
  std::string id;
  std::string name;
  std::vector<Limit> limits;
  Enforcement enforcement;

  bool operator==(const Plan&) const = default;
};

std::string_view to_string(Algorithm);
std::string_view to_string(Align);
std::string_view to_string(Period);
std::string_view to_string(Action);
std::string_view to_string(Mode);
std::string_view to_string(FailureMode);
std::string_view to_string(DegradeAction);
std::string_view to_string(Expose);
std::string_view to_string(ReportSubjects);

}  // namespace sluice
