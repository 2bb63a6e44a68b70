// Policies (which requests get which limits) and overrides (other numbers for one identity).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/domain/plan.hpp"

namespace sluice {

// One condition of a scope. It holds if the check's value of the dimension matches one of `values`. A value with '*' at
// its end is a prefix. For source_ip a value may be a CIDR block.
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
  std::vector<ScopeTerm> scope;  // all conditions must hold; sorted by dimension
  std::string match_expr;        // "": always true
  std::string plan_id;           // "": the policy has limits of its own
  std::vector<Limit> limits;     // empty if plan_id is set
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

struct Override {
  std::string tenant_id;
  std::string id;
  std::string policy_id;  // exactly one of policy_id and plan_id is set
  std::string plan_id;
  std::string limit_name;
  Algorithm algorithm = Algorithm::token_bucket;
  std::vector<std::pair<DimensionRef, std::string>> identity;  // all dimensions of the counter key, sorted
  std::optional<std::int64_t> limit;                           // "capacity" in the JSON of a bucket
  std::optional<Rate> rate;
  std::optional<Micros> window;
  std::optional<Micros> lease_ttl;
  std::optional<WallTime> expires_at;

  bool operator==(const Override&) const = default;
};

}  // namespace sluice
