#include "common/telemetry/registry.hpp"

#include <prometheus/text_serializer.h>

#include <ios>
#include <sstream>
#include <utility>

#include "common/base/version.hpp"
#include "common/telemetry/families.hpp"

namespace sluice::telemetry {
namespace {

using prometheus::MetricFamily;

const MetricSpec& build_spec() {
  static const MetricSpec spec{.name = "sluice_build_info",
                               .type = kGauge,
                               .help = "Constant 1; the labels name the program's version and compiler.",
                               .labels = {{.name = "version", .about = "the program's version"},
                                          {.name = "compiler", .about = "its compiler, with the version"}}};
  return spec;
}

}  // namespace

Registry::Registry() { add(process_metrics(), process_); }

void Registry::add(Entry entry) {
  const std::lock_guard lock(mutex_);
  entries_.push_back(std::move(entry));
}

void Registry::add(const Instrument& instrument, std::string when) {
  const std::lock_guard lock(mutex_);
  instruments_.emplace_back(&instrument, std::move(when));
}

std::string Registry::render() const {
  std::vector<MetricFamily> families;
  add_sample(families.emplace_back(family(build_spec())),
             {{"version", std::string(version())}, {"compiler", std::string(compiler())}}, 1);
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [instrument, when] : instruments_) {
      for (MetricFamily& made : instrument->Collect()) families.push_back(std::move(made));
    }
    for (const Entry& entry : entries_) {
      MetricFamily& made = families.emplace_back(family(*entry.spec));
      for (const Sample& sample : entry.samples) {
        const auto value = sample.read();
        if (!value) continue;
        Labels labels;
        if (!entry.spec->labels.empty()) labels.push_back({entry.spec->labels.front().name, *sample.label_value});
        add_sample(made, std::move(labels), *value);
      }
    }
  }
  std::erase_if(families, [](const MetricFamily& made) { return made.metric.empty(); });
  std::ostringstream text;
  text.exceptions(std::ios::badbit);  // otherwise a text for which there is no memory would be cut
  prometheus::TextSerializer().Serialize(text, families);
  return std::move(text).str();
}

std::vector<MetricSpec> Registry::specs() const {
  std::vector<MetricSpec> specs{build_spec()};
  const std::lock_guard lock(mutex_);
  for (const auto& [instrument, when] : instruments_) specs.push_back(instrument->spec().registered(when));
  for (const Entry& entry : entries_) specs.push_back(entry.spec->registered(entry.when));
  return specs;
}

}  // namespace sluice::telemetry
