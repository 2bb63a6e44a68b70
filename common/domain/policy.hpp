// To whom a plan applies, and the exceptions to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/domain/plan.hpp"

namespace sluice {

// One dimension of a scope: any of the values satisfies it.
// A value is exact, or a prefix where it ends in '*'; of source_ip also a CIDR block.
struct ScopeTerm {
  DimensionRef dimension;
  std::vector<std::string> values;

  bool operator==(const ScopeTerm&) const = default;
};

struct Policy {
  std::string tenant_id;
  std::string id;
  std::string name;
  Metadata metadata;
  std::vector<ScopeTerm> scope;  // all must hold; sorted by dimension
  std::string match_expr;        // "" is always true
  std::string plan_id;           // "" when the policy brings its own limits
  std::vector<Limit> limits;     // "" plan_id: 1 to 16
  Enforcement enforcement;
  ReportSubjects report_subjects = ReportSubjects::hashed;
  double rollout_percent = 100;
  std::optional<WallTime> valid_from;  // inclusive
  std::optional<WallTime> valid_to;    // exclusive
  bool enabled = true;
  std::int64_t priority = 0;
  std::int64_t version = 1;

  bool operator==(const Policy&) const = default;
};

// Replaces numbers of one limit for one identity until its own time.
struct Override {
  std::string tenant_id;
  std::string id;
  std::string policy_id;  // exactly one of policy_id and plan_id is set
  std::string plan_id;
  std::string limit_name;
  std::vector<std::pair<DimensionRef, std::string>> identity;  // exactly the dimensions of the counter's key, sorted
  std::optional<std::int64_t> limit;                           // also "capacity"
  std::optional<Rate> rate;
  std::optional<Micros> window;
  std::optional<Micros> lease_ttl;
  std::optional<WallTime> expires_at;  // absent: does not end

  bool operator==(const Override&) const = default;
};

}  // namespace sluice
