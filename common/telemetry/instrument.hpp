// A metric that keeps its own samples, such as a histogram. Metrics whose values somebody else keeps are rows of a
// MetricTable.
#pragma once

#include <prometheus/collectable.h>

#include <utility>

#include "common/telemetry/metric_spec.hpp"

namespace sluice::telemetry {

class Instrument : public prometheus::Collectable {
 public:
  explicit Instrument(MetricSpec spec) : spec_(std::move(spec)) {}

  const MetricSpec& spec() const { return spec_; }

 private:
  const MetricSpec spec_;
};

}  // namespace sluice::telemetry
