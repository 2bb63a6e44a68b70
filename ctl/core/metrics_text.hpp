// Reads the counters of one metric from a page in Prometheus' text format.
//
// Thread safety: a pure function.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace sluice::ctl {

using Labels = std::map<std::string, std::string, std::less<>>;

// The value of each series of `metric`, by its labels. Lines that are not of the metric, or have no valid value, are
// left out. Source of the format: Prometheus' exposition format 0.0.4.
std::map<Labels, double> read_metric(std::string_view page, std::string_view metric);

}  // namespace sluice::ctl
