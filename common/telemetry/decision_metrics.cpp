#include "common/telemetry/decision_metrics.hpp"

#include "common/telemetry/families.hpp"

namespace sluice::telemetry {
namespace {

constexpr std::string_view kOther = "other";
constexpr const char* kAllowed = "allowed";
constexpr const char* kDenied = "denied";

// Some samples are exposed at 0 from the start, because rate() and alerts need a first value.
bool always_exposed(bool allowed, Reason reason) {
  return allowed ? reason == Reason::within_limit : reason == Reason::limit_exceeded;
}

void collect(prometheus::MetricFamily& family, const std::string& tenant, const std::string& policy,
             const DecisionCounters& block) {
  for (const bool allowed : {true, false}) {
    for (std::size_t i = 0; i < kReasons; ++i) {
      const auto reason = static_cast<Reason>(i);
      const std::uint64_t count = block.value(allowed, reason);
      if (count == 0 && !always_exposed(allowed, reason)) continue;
      Labels labels{
          {"tenant", tenant}, {"outcome", allowed ? kAllowed : kDenied}, {"reason", std::string(to_string(reason))}};
      if (!policy.empty()) labels.push_back({"policy", policy});
      add_sample(family, std::move(labels), static_cast<double>(count));
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
    : Instrument(
          {.name = "sluice_decisions_total",
           .type = kCounter,
           .help = "Decisions; the agent counts each exactly once.",
           .labels = {{.name = "tenant", .about = "the tenant's id; empty where no tenant was known"},
                      {.name = "outcome", .values = {kAllowed, kDenied}},
                      {.name = "reason", .values = reasons()},
                      {.name = "policy",
                       .about = "only with `--metrics-policy-label`: the policy's id; `other` from the 201st policy "
                                "on"}}}),
      policy_label_(policy_label) {}

DecisionCounters& DecisionMetrics::counters(std::string_view tenant, std::string_view policy) {
  if (!policy_label_) policy = {};
  const std::lock_guard lock(mutex_);
  Names names(tenant, policy);
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
  const std::lock_guard lock(mutex_);
  for (const auto& [names, block] : blocks_) collect(made, names.first, names.second, *block);
  return {std::move(made)};
}

}  // namespace sluice::telemetry
