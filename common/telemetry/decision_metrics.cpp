#include "common/telemetry/decision_metrics.hpp"

#include <iterator>
#include <utility>

#include "common/telemetry/families.hpp"

namespace sluice::telemetry {
namespace {

constexpr const char* kWithinLimit = "within_limit";
constexpr const char* kOverLimit = "over_limit";

// Some samples are exposed at 0 from the start, because rate() and alerts need a first value.
bool always_exposed(bool allowed, Reason reason) {
  return allowed ? reason == Reason::within_limit : reason == Reason::limit_exceeded;
}

Labels labels_of(const std::string& tenant, Labels more, const std::string& policy) {
  Labels labels{{"tenant", tenant}};
  labels.insert(labels.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  if (!policy.empty()) labels.push_back({"policy", policy});
  return labels;
}

// Calls `use(allowed, reason, count)` for each sample that is exposed. A shadow that never decided has none.
template <class Use>
void for_each_decision(const DecisionCounters& block, Use use) {
  const bool is_shadow = block.shadows(true) + block.shadows(false) > 0;
  for (const bool allowed : {true, false}) {
    for (std::size_t i = 0; i < kReasons; ++i) {
      const auto reason = static_cast<Reason>(i);
      const std::uint64_t count = block.value(allowed, reason);
      if (count > 0 || (!is_shadow && always_exposed(allowed, reason))) use(allowed, reason, count);
    }
  }
}

std::vector<std::string> reasons() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kReasons; ++i) names.emplace_back(to_string(static_cast<Reason>(i)));
  return names;
}

}  // namespace

DecisionMetrics::DecisionMetrics(bool policy_label)
    : Instrument({.name = "sluice_decisions_total",
                  .type = kCounter,
                  .help = "Decisions; the agent counts each exactly once.",
                  .labels = {{.name = "tenant", .about = kAboutTenantOrNone},
                             {.name = "outcome", .values = {kAllowed, kDenied}},
                             {.name = "reason", .values = reasons()},
                             {.name = "policy", .about = kAboutPolicy}}}),
      policy_label_(policy_label) {}

DecisionCounters& DecisionMetrics::counters(std::string_view tenant, std::string_view policy) {
  if (!policy_label_) policy = {};
  const std::lock_guard lock(mutex_);
  Names names(tenants_.value_of(tenant), policy);
  if (const auto found = blocks_.find(names); found != blocks_.end()) return *found->second;
  const bool is_other = !policy.empty() && policies_ == kMaxPolicies;
  if (is_other) names.second = kOther;
  if (const auto found = blocks_.find(names); found != blocks_.end()) return *found->second;
  auto block = std::make_unique<DecisionCounters>();  // before the entry, which must never lack it
  DecisionCounters& made = *blocks_.emplace(std::move(names), std::move(block)).first->second;
  if (!policy.empty() && !is_other) ++policies_;
  return made;
}

std::vector<prometheus::MetricFamily> DecisionMetrics::Collect() const {
  prometheus::MetricFamily made = family(spec());
  for_each([&](const std::string& tenant, const std::string& policy, const DecisionCounters& block) {
    for_each_decision(block, [&](bool allowed, Reason reason, std::uint64_t count) {
      Labels labels{{"outcome", allowed ? kAllowed : kDenied}, {"reason", std::string(to_string(reason))}};
      add_sample(made, labels_of(tenant, std::move(labels), policy), static_cast<double>(count));
    });
  });
  return {std::move(made)};
}

LimitUtilization::LimitUtilization(const DecisionMetrics& decisions)
    : Instrument({.name = "sluice_limit_utilization",
                  .type = kHistogram,
                  .help = "The share of the limit that was used after a decision, 0 to 1: of the limit that decided. "
                          "Decisions that no limit judged are not in it.",
                  .labels = {{.name = "tenant", .about = "only with `--metrics-policy-label`: the policy's tenant"},
                             {.name = "policy",
                              .about = "only with `--metrics-policy-label`: the policy's id; no label: decisions by a "
                                       "plan that the check names, and by policies from the 201st on"}}}),
      decisions_(decisions) {}

std::vector<prometheus::MetricFamily> LimitUtilization::Collect() const {
  prometheus::MetricFamily made = family(spec());
  UtilizationBuckets::Totals rest;
  decisions_.for_each([&](const std::string& tenant, const std::string& policy, const DecisionCounters& block) {
    const UtilizationBuckets::Totals totals = block.utilization.totals();
    if (policy.empty() || policy == kOther) {
      rest += totals;
    } else if (!totals.empty()) {
      made.metric.emplace_back(totals.sample()).label = labels_of(tenant, {}, policy);
    }
  });
  made.metric.push_back(rest.sample());
  return {std::move(made)};
}

NearLimit::NearLimit(const DecisionMetrics& decisions)
    : Instrument(
          {.name = "sluice_decisions_near_limit_total",
           .type = kCounter,
           .help = "Decisions after which more than 80 % of the limit that decided was used, those over the "
                   "limit among them.",
           .labels = {{.name = "tenant", .about = kAboutTenantOrNone}, {.name = "policy", .about = kAboutPolicy}}}),
      decisions_(decisions) {}

std::vector<prometheus::MetricFamily> NearLimit::Collect() const {
  prometheus::MetricFamily made = family(spec());
  add_sample(made, labels_of({}, {}, {}), 0);
  decisions_.for_each([&](const std::string& tenant, const std::string& policy, const DecisionCounters& block) {
    const UtilizationBuckets::Totals totals = block.utilization.totals();
    if (!totals.empty()) add_sample(made, labels_of(tenant, {}, policy), static_cast<double>(totals.near_limit()));
  });
  return {std::move(made)};
}

ShadowDecisions::ShadowDecisions(const DecisionMetrics& decisions)
    : Instrument({.name = "sluice_shadow_decisions_total",
                  .type = kCounter,
                  .help =
                      "Checks that a policy or plan in shadow mode judged, alone or beside the one that decided, by "
                      "what it found: what it would have allowed is `within_limit`.",
                  .labels = {{.name = "tenant", .about = kAboutTenant},
                             {.name = "outcome", .values = {kWithinLimit, kOverLimit}},
                             {.name = "policy", .about = kAboutPolicy}}}),
      decisions_(decisions) {}

std::vector<prometheus::MetricFamily> ShadowDecisions::Collect() const {
  prometheus::MetricFamily made = family(spec());
  for (const char* outcome : {kWithinLimit, kOverLimit}) add_sample(made, labels_of({}, {{"outcome", outcome}}, {}), 0);
  decisions_.for_each([&](const std::string& tenant, const std::string& policy, const DecisionCounters& block) {
    for (const bool over_limit : {false, true}) {
      const std::uint64_t count = block.shadows(over_limit);
      if (count == 0) continue;
      Labels outcome{{"outcome", over_limit ? kOverLimit : kWithinLimit}};
      add_sample(made, labels_of(tenant, std::move(outcome), policy), static_cast<double>(count));
    }
  });
  return {std::move(made)};
}

}  // namespace sluice::telemetry
