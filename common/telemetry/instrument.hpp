// The base class of metrics that keep their own samples, such as histograms. MetricTable is for values that another
// object keeps.
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
