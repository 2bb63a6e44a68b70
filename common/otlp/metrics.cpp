#include "common/otlp/metrics.hpp"

namespace sluice::otlp {

using telemetry::kCounter;
using telemetry::kGauge;

const telemetry::MetricTable<Exporter>& trace_metrics() {
  static const telemetry::MetricTable<Exporter> table{
      {"sluice_trace_spans_exported_total", kCounter, "Spans that the collector has taken.",
       [](const Exporter& exporter) { return exporter.statistics().exported.load(std::memory_order_relaxed); }},
      {"sluice_trace_spans_dropped_total",
       kCounter,
       "Spans that the collector does not have: queue_full, it was too slow; export_failed, it did not answer in time; "
       "refused, it did not want them.",
       "cause",
       {{"queue_full", &Exporter::dropped_queue_full},
        {"export_failed",
         [](const Exporter& exporter) { return exporter.statistics().export_failed.load(std::memory_order_relaxed); }},
        {"refused",
         [](const Exporter& exporter) { return exporter.statistics().refused.load(std::memory_order_relaxed); }}}},
      {"sluice_trace_export_failures_total", kCounter,
       "Attempts to send spans that failed. Most are followed by another attempt with the same spans.",
       [](const Exporter& exporter) { return exporter.statistics().failed_attempts.load(std::memory_order_relaxed); }},
      {"sluice_trace_spans_waiting", kGauge, "Ended spans that wait to be sent.", &Exporter::waiting},
  };
  return table;
}

}  // namespace sluice::otlp
