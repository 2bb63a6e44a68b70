#include "engine/policies/policy_metrics.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/domain/algorithm.hpp"
#include "common/telemetry/families.hpp"

namespace sluice::policies {
namespace {

using policy::CompiledPolicy;
using policy::PlanView;
using policy::Rulebook;
using policy::Snapshot;
using policy::TenantView;

constexpr const char* kWithLabel = "with `--metrics-policy-label`";

template <class Object>
std::vector<std::shared_ptr<const Object>> sorted(const policy::IdMap<Object>& objects) {
  std::vector<std::shared_ptr<const Object>> all;
  all.reserve(objects.size());
  objects.for_each([&](const auto& object) { all.push_back(object); });
  std::ranges::sort(all, {}, [](const auto& object) { return id_of(*object); });
  return all;
}

// Lists the limits of one rulebook, all of them or none.
class Lister {
 public:
  // Returns false if there is no more room.
  bool list(const TenantView& tenant, const Rulebook& rulebook) {
    const limiter::Program& program = *rulebook.program;
    if (listing_.limits.size() + program.limits.size() > PolicyMetrics::kMaxListed) return false;
    std::vector<Limit> in_order(program.limits.size());
    for (std::size_t i = 0; i < in_order.size(); ++i) in_order[program.plan_position[i]] = program.limits[i];
    for (Limit& limit : in_order) {
      listing_.limits.push_back({.tenant = tenant.name->id,
                                 .policy = rulebook.is_policy ? rulebook.owner_id : "",
                                 .plan = rulebook.plan_id,
                                 .limit = std::move(limit)});
    }
    ++listed_;
    return true;
  }

  // Returns false if there is no more room.
  bool list_tenant(const TenantView& tenant) {
    const auto policies = sorted(tenant.policies);
    const auto plans = sorted(tenant.plans);
    const auto fits = [&](const auto& object) { return list(tenant, object->rulebook); };
    return std::ranges::all_of(policies, fits) && std::ranges::all_of(plans, fits);
  }

  PolicyMetrics::Listing finish(const Snapshot& snapshot) {
    listing_.omitted = snapshot.policy_count + snapshot.plan_count - listed_;
    return std::move(listing_);
  }

 private:
  PolicyMetrics::Listing listing_;
  std::size_t listed_ = 0;  // rulebooks
};

PolicyMetrics::Listing list_limits(const Snapshot& snapshot) {
  Lister lister;
  for (const auto& tenant : sorted(snapshot.tenants)) {
    if (!lister.list_tenant(*tenant)) break;
  }
  return lister.finish(snapshot);
}

std::vector<telemetry::LabelSpec> label_specs() {
  std::vector<std::string> algorithms;
  for (const AlgorithmTraits& traits : algorithms_without_shorthands()) algorithms.emplace_back(traits.name);
  return {{.name = "tenant", .about = "the tenant's id"},
          {.name = "policy", .about = "the policy's id; empty for a plan"},
          {.name = "plan", .about = "the plan's id; empty for a policy that has limits of its own"},
          {.name = "limit", .about = "the limit's name"},
          {.name = "algorithm", .values = std::move(algorithms)}};
}

telemetry::Labels labels_of(const PolicyMetrics::ListedLimit& listed) {
  return {{"tenant", listed.tenant},
          {"policy", listed.policy},
          {"plan", listed.plan},
          {"limit", listed.limit.name},
          {"algorithm", std::string(to_string(listed.limit.algorithm))}};
}

}  // namespace

void PolicyMetrics::set_snapshot(std::shared_ptr<const Snapshot> snapshot) {
  std::shared_ptr<const Listing> former;  // is freed without the lock
  const std::lock_guard lock(mutex_);
  snapshot_.swap(snapshot);
  former = std::exchange(listing_, nullptr);
}

std::shared_ptr<const PolicyMetrics::Listing> PolicyMetrics::listing() const {
  std::shared_ptr<const Snapshot> snapshot;
  {
    const std::lock_guard lock(mutex_);
    if (listing_) return listing_;
    snapshot = snapshot_;
  }
  auto made = std::make_shared<const Listing>(snapshot ? list_limits(*snapshot) : Listing{});
  const std::lock_guard lock(mutex_);
  if (snapshot_ == snapshot) listing_ = made;
  return made;
}

std::optional<double> PolicyMetrics::size(std::size_t (*of)(const Snapshot& snapshot)) const {
  const std::lock_guard lock(mutex_);
  return snapshot_ ? std::optional(static_cast<double>(of(*snapshot_))) : std::nullopt;
}

const telemetry::MetricTable<PolicyMetrics>& PolicyMetrics::metric_table() {
  using Of = std::size_t (*)(const Snapshot&);
  const auto reading = [](Of of) { return [of](const PolicyMetrics& policies) { return policies.size(of); }; };
  static const telemetry::MetricTable<PolicyMetrics> table{
      {"sluice_snapshot_objects",
       telemetry::kGauge,
       "Objects in the snapshot in force, by kind. `expressions`: policies with a match expression. "
       "`overridden_counters`: counter keys with overrides of the bundle file; a server's overrides are in Redis. "
       "Absent while no policies are in force.",
       "kind",
       {{"organizations", reading([](const Snapshot& snapshot) { return snapshot.organizations.size(); })},
        {"tenants", reading([](const Snapshot& snapshot) { return snapshot.tenants.size(); })},
        {"plans", reading([](const Snapshot& snapshot) { return snapshot.plan_count; })},
        {"policies", reading([](const Snapshot& snapshot) { return snapshot.policy_count; })},
        {"keys", reading([](const Snapshot& snapshot) { return snapshot.keys.size(); })},
        {"expressions", reading([](const Snapshot& snapshot) { return snapshot.expression_count; })},
        {"overridden_counters", reading([](const Snapshot& snapshot) { return snapshot.overrides.size(); })}}},
      {"sluice_snapshot_index_entries", telemetry::kGauge,
       "Entries of the indexes that find a check's policies: one for each different combination of values in the "
       "scopes of policies, and one for each policy that no index can find. Absent while no policies are in force.",
       reading([](const Snapshot& snapshot) { return snapshot.index_entries; })},
  };
  return table;
}

const telemetry::MetricTable<PolicyMetrics>& PolicyMetrics::listing_table() {
  static const telemetry::MetricTable<PolicyMetrics> table{
      {"sluice_limit_configured_omitted", telemetry::kGauge,
       "Policies and plans whose limits `sluice_limit_configured` leaves out, because it has at most 1,000 limits.",
       [](const PolicyMetrics& policies) { return policies.listing()->omitted; }, kWithLabel},
  };
  return table;
}

ConfiguredLimits::ConfiguredLimits(const PolicyMetrics& policies)
    : Instrument({.name = "sluice_limit_configured",
                  .type = telemetry::kGauge,
                  .help =
                      "The configured limit, or the capacity of a bucket, in the limit's unit. Overrides are not in "
                      "it. At most 1,000 limits: those of the first tenants by id, each with its policies first; "
                      "`sluice_limit_configured_omitted` counts the rest.",
                  .labels = label_specs(),
                  .when = kWithLabel}),
      policies_(policies) {}

std::vector<prometheus::MetricFamily> ConfiguredLimits::Collect() const {
  prometheus::MetricFamily made = telemetry::family(spec());
  for (const PolicyMetrics::ListedLimit& listed : policies_.listing()->limits) {
    telemetry::add_sample(made, labels_of(listed), static_cast<double>(listed.limit.limit));
  }
  return {std::move(made)};
}

LimitWindows::LimitWindows(const PolicyMetrics& policies, const Clock& clock)
    : Instrument({.name = "sluice_limit_window_seconds",
                  .type = telemetry::kGauge,
                  .help = "The time in which the configured limit is allowed, in seconds: a window, the current period "
                          "of a quota, or how long a bucket takes to fill. Absent for concurrency. Bounded like "
                          "`sluice_limit_configured`.",
                  .labels = label_specs(),
                  .when = kWithLabel}),
      policies_(policies),
      clock_(clock) {}

std::vector<prometheus::MetricFamily> LimitWindows::Collect() const {
  prometheus::MetricFamily made = telemetry::family(spec());
  const std::int64_t now_us = clock_.now_us();
  for (const PolicyMetrics::ListedLimit& listed : policies_.listing()->limits) {
    const std::int64_t window = window_us(listed.limit, listed.limit.limit, now_us);
    if (window > 0) telemetry::add_sample(made, labels_of(listed), static_cast<double>(window) / 1e6);
  }
  return {std::move(made)};
}

}  // namespace sluice::policies
