#include "common/telemetry/registry.hpp"

#include <prometheus/text_serializer.h>

#include <utility>

#include "common/base/version.hpp"
#include "common/telemetry/families.hpp"

namespace sluice::telemetry {

using prometheus::MetricFamily;
using prometheus::MetricType;

void Registry::counter(std::string name, std::string help, Reading read) {
  add({std::move(name), std::move(help), MetricType::Counter, "", {{"", std::move(read)}}});
}

void Registry::gauge(std::string name, std::string help, Reading read) {
  add({std::move(name), std::move(help), MetricType::Gauge, "", {{"", std::move(read)}}});
}

void Registry::counter(std::string name, std::string help, std::string label, std::vector<Labelled> samples) {
  add({std::move(name), std::move(help), MetricType::Counter, std::move(label), std::move(samples)});
}

void Registry::gauge(std::string name, std::string help, std::string label, std::vector<Labelled> samples) {
  add({std::move(name), std::move(help), MetricType::Gauge, std::move(label), std::move(samples)});
}

void Registry::add(Entry entry) {
  const std::lock_guard lock(mutex_);
  entries_.push_back(std::move(entry));
}

void Registry::add(const prometheus::Collectable& part) {
  const std::lock_guard lock(mutex_);
  parts_.push_back(&part);
}

std::string Registry::render() const {
  std::vector<MetricFamily> families;
  const auto take = [&families](const prometheus::Collectable& part) {
    for (MetricFamily& made : part.Collect()) families.push_back(std::move(made));
  };
  MetricFamily& build = families.emplace_back(
      family("sluice_build_info", "Constant 1; the labels name the version and the compiler.", MetricType::Gauge));
  add_sample(build, {{"version", std::string(version())}, {"compiler", std::string(compiler())}}, 1);
  {
    const std::lock_guard lock(mutex_);
    for (const prometheus::Collectable* part : parts_) take(*part);
    for (const Entry& entry : entries_) {
      MetricFamily& made = families.emplace_back(family(entry.name, entry.help, entry.type));
      for (const Labelled& sample : entry.samples) {
        const auto value = sample.read();
        if (!value) continue;
        Labels labels;
        if (!entry.label.empty()) labels.push_back({entry.label, sample.value});
        add_sample(made, std::move(labels), *value);
      }
    }
  }
  take(process_);
  // A family without samples would show its HELP and TYPE lines only.
  std::erase_if(families, [](const MetricFamily& made) { return made.metric.empty(); });
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace sluice::telemetry
