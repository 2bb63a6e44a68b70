#include "server/metrics.hpp"

#include <prometheus/text_serializer.h>

#include "common/base/version.hpp"
#include "common/telemetry/families.hpp"

namespace sluice::server {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using telemetry::add_sample;
using telemetry::family;

constexpr std::string_view kDuration = "sluice_http_request_duration_seconds";
constexpr std::string_view kDurationHelp = "Time from a call's arrival to its answer.";

std::vector<std::string> labels() {
  std::vector<std::string> names;
  for (const Route& route : routes()) names.push_back(std::string(route.method) + " " + std::string(route.path));
  names.emplace_back("none");
  return names;
}

std::size_t index_of(const Route* route) {
  return route == nullptr ? routes().size() : static_cast<std::size_t>(route - routes().data());
}

}  // namespace

Metrics::Metrics(const Pool& pool) : pool_(pool), requests_(labels()) {
  for (std::size_t i = 0; i <= routes().size(); ++i) {
    durations_.emplace_back(std::string(kDuration), std::string(kDurationHelp));
  }
}

void Metrics::count_request(const Route* route, unsigned status, std::chrono::nanoseconds took) noexcept {
  requests_.count(index_of(route), status);
  durations_[index_of(route)].observe(took);
}

void Metrics::add(std::string name, std::string help, MetricType type, std::function<double()> read) {
  extras_.push_back({std::move(name), std::move(help), type, std::move(read)});
}

// One family; routes that nobody asked for yet are left out.
MetricFamily Metrics::durations() const {
  MetricFamily all = family(std::string(kDuration), std::string(kDurationHelp), MetricType::Histogram);
  const std::vector<std::string> names = labels();
  for (std::size_t i = 0; i < names.size(); ++i) {
    prometheus::ClientMetric sample = std::move(durations_[i].Collect().front().metric.front());
    if (sample.histogram.sample_count == 0) continue;
    sample.label = {{"route", names[i]}};
    all.metric.push_back(std::move(sample));
  }
  return all;
}

void Metrics::collect_pool(std::vector<MetricFamily>& families) const {
  MetricFamily& connections = families.emplace_back(
      family("sluice_postgres_connections", "Connections to PostgreSQL, by state.", MetricType::Gauge));
  add_sample(connections, {{"state", "busy"}}, static_cast<double>(pool_.busy()));
  add_sample(connections, {{"state", "open"}}, static_cast<double>(pool_.connected()));
  add_sample(connections, {{"state", "most"}}, static_cast<double>(pool_.size()));
  MetricFamily& waiting =
      families.emplace_back(family("sluice_postgres_waiting", "Calls that wait for a connection.", MetricType::Gauge));
  add_sample(waiting, {}, static_cast<double>(pool_.waiting()));
  MetricFamily& failures = families.emplace_back(
      family("sluice_postgres_errors_total", "What went wrong with PostgreSQL, by class.", MetricType::Counter));
  for (std::size_t i = 0; i < kFailureClasses; ++i) {
    const auto failure = static_cast<FailureClass>(i);
    add_sample(failures, {{"class", std::string(to_string(failure))}}, static_cast<double>(pool_.failures(failure)));
  }
}

std::string Metrics::render() const {
  std::vector<MetricFamily> families = requests_.Collect();
  families.push_back(durations());
  collect_pool(families);
  MetricFamily& build = families.emplace_back(
      family("sluice_build_info", "Constant 1; the labels say what was built.", MetricType::Gauge));
  add_sample(build, {{"version", std::string(version())}, {"compiler", std::string(compiler())}}, 1);
  for (const Extra& extra : extras_) {
    add_sample(families.emplace_back(family(extra.name, extra.help, extra.type)), {}, extra.read());
  }
  for (const prometheus::Collectable* part : parts_) {
    for (MetricFamily& made : part->Collect()) families.push_back(std::move(made));
  }
  for (MetricFamily& part : process_.Collect()) families.push_back(std::move(part));
  // A family without samples would be a bare HELP and TYPE.
  std::erase_if(families, [](const MetricFamily& made) { return made.metric.empty(); });
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace sluice::server
