#include "agent/rls/rule_metrics.hpp"

#include <prometheus/metric_family.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/core.h>

#include "common/rls_config/find_rule.hpp"

namespace sluice::agent::rls {
namespace {

using rls_config::kPartEnd;

// Hits above this part of a limit are near it; NEAR_LIMIT_RATIO of envoyproxy/ratelimit is 0.8 as well.
constexpr std::uint64_t near_limit_of(std::uint64_t limit) { return limit * 4 / 5; }

constexpr std::array<std::string_view, kHitCounters.size()> kHelp{
    "Hits of requests that met the rule.", "Hits within the rule's limit.",
    "Hits within the rule's limit, above 80 % of it.", "Hits over the rule's limit.",
    "Hits over the limit of a rule with shadow_mode, which passed. They count as over_limit too."};

telemetry::MetricSpec spec_of(HitCounter counter) {
  const auto index = static_cast<std::size_t>(counter);
  return {.name = fmt::format("ratelimit_service_rate_limit_{}", kHitCounters[index]),
          .type = telemetry::kCounter,
          .help = std::string(kHelp[index]),
          .labels = {{.name = "domain", .about = "the rule's domain"},
                     {.name = "key1", .about = "its first level, such as user or user_ada"},
                     {.name = "key2", .about = "its second level, if it has one; key3 and so on for further ones"}}};
}

// "domain", "key1", "key2", … of labels that are each ended by kPartEnd.
std::vector<prometheus::ClientMetric::Label> labels_of(std::string_view text) {
  std::vector<prometheus::ClientMetric::Label> labels;
  while (!text.empty()) {
    const std::size_t end = text.find(kPartEnd);
    labels.push_back(
        {labels.empty() ? "domain" : fmt::format("key{}", labels.size()), std::string(text.substr(0, end))});
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return labels;
}

class SeriesInstrument final : public telemetry::Instrument {
 public:
  SeriesInstrument(const RuleMetrics& metrics, HitCounter counter)
      : Instrument(spec_of(counter)), metrics_(metrics), counter_(counter) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    prometheus::MetricFamily made{.name = spec().name, .help = spec().help, .type = spec().type, .metric = {}};
    metrics_.for_each([&](std::string_view labels, const RuleSeries& series) {
      prometheus::ClientMetric& sample = made.metric.emplace_back();
      sample.label = labels_of(labels);
      sample.counter.value = static_cast<double>(series.value(counter_));
    });
    return {std::move(made)};
  }

 private:
  const RuleMetrics& metrics_;
  const HitCounter counter_;
};

// Calls `see(labels, rule)` for each rule below the node whose labels no request can change: they are the names of the
// levels.
template <class See>
void for_each_fixed(const rls_config::Node& parent, std::string& labels, const See& see) {
  for (const auto& [name, node] : parent.children) {
    if (node->value_to_metric) continue;  // its values are in the labels of all rules below it
    const std::size_t size = labels.size();
    rls_config::append_part(name, labels);
    if (node->rule && !node->rule->unlimited && !node->rule->detailed_metric) see(labels, *node->rule);
    for_each_fixed(*node, labels, see);
    labels.resize(size);
  }
}

}  // namespace

void RuleSeries::count(const JudgedHits& judged) noexcept {
  add(HitCounter::total_hits, judged.hits);
  if (!judged.within) {
    add(HitCounter::over_limit, judged.hits);
    if (judged.shadow_mode) add(HitCounter::shadow_mode, judged.hits);
    return;
  }
  add(HitCounter::within_limit, judged.hits);
  const std::uint64_t used = judged.limit - std::min(judged.limit, judged.remaining);
  const std::uint64_t near_limit = near_limit_of(judged.limit);
  if (used > near_limit) add(HitCounter::near_limit, std::min(judged.hits, used - near_limit));
}

RuleMetrics::RuleMetrics() {
  for (std::size_t i = 0; i < kHitCounters.size(); ++i) {
    instruments_.push_back(std::make_unique<SeriesInstrument>(*this, static_cast<HitCounter>(i)));
  }
}

RuleMetrics::~RuleMetrics() = default;

void RuleMetrics::for_each(const std::function<void(std::string_view, const RuleSeries&)>& see) const {
  std::vector<std::pair<std::string_view, const RuleSeries*>> all;
  const std::shared_lock lock(mutex_);
  all.reserve(series_.size());
  for (const auto& [labels, series] : series_) all.emplace_back(labels, series.get());
  std::ranges::sort(all);
  for (const auto& [labels, series] : all) see(labels, *series);
}

std::shared_ptr<const RuleMetrics::Index> RuleMetrics::index(const rls_config::Config& config) {
  auto made = std::make_shared<Index>();
  std::string labels;
  for (const auto& [domain, root] : config.domains) {
    labels.clear();
    rls_config::append_part(domain, labels);
    for_each_fixed(root, labels, [&](std::string_view its_labels, const rls_config::Rule& rule) {
      const std::unique_lock lock(mutex_);
      made->emplace(&rule, &take(its_labels, false));
    });
  }
  return made;
}

RuleSeries& RuleMetrics::of_values(std::string_view labels) {
  {
    const std::shared_lock lock(mutex_);
    if (RuleSeries* found = find(labels)) return *found;
  }
  const std::unique_lock lock(mutex_);
  return take(labels, true);
}

RuleSeries* RuleMetrics::find(std::string_view labels) const {
  const auto found = series_.find(labels);
  return found == series_.end() ? nullptr : found->second.get();
}

// REQUIRES: mutex_ is locked.
RuleSeries& RuleMetrics::take(std::string_view labels, bool of_values) {
  if (RuleSeries* found = find(labels)) return *found;
  std::string name(labels);
  if (series_.size() >= kMaxSeries || (of_values && value_series_ >= kMaxValueSeries)) {
    name.resize(name.find(kPartEnd) + 1);
    rls_config::append_part(kOther, name);
    if (RuleSeries* found = find(name)) return *found;
  } else if (of_values) {
    ++value_series_;
  }
  return *series_.emplace(std::move(name), std::make_unique<RuleSeries>()).first->second;
}

const telemetry::MetricTable<Counts>& error_metrics() {
  const auto sum_of = [](std::initializer_list<RequestOutcome> outcomes) {
    return [all = std::vector(outcomes)](const Counts& counts) {
      std::uint64_t sum = 0;
      for (const RequestOutcome each : all) {
        sum += counts.requests[static_cast<std::size_t>(each)].load(std::memory_order_relaxed);
      }
      return sum;
    };
  };
  static const telemetry::MetricTable<Counts> table{
      {"ratelimit_service_should_rate_limit_error",
       telemetry::kCounter,
       "Requests to the rate limit service that got an error: redis_error because the counter store did not judge "
       "them, "
       "service_error for all other causes.",
       "err_type",
       {{"redis_error", sum_of({RequestOutcome::unavailable})},
        {"service_error", sum_of({RequestOutcome::invalid, RequestOutcome::overload})}}},
  };
  return table;
}

}  // namespace sluice::agent::rls
