// Collects the metric descriptions of all folders for the generated page docs/reference/metrics.md, and has those of
// the listeners, which belong to no folder.
#pragma once

#include <vector>

#include "common/http/server.hpp"
#include "common/telemetry/metric_spec.hpp"
#include "common/telemetry/metric_table.hpp"

namespace sluice::server {

struct TlsListeners {
  const sluice::http::Server* api = nullptr;
  const sluice::http::Server* webhook = nullptr;  // nullptr: no webhook
};
const telemetry::MetricTable<TlsListeners>& tls_metrics();

std::vector<telemetry::MetricSpec> metric_specs();

}  // namespace sluice::server
