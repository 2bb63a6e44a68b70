#include "server/identity/metrics.hpp"

namespace sluice::server::identity {

using telemetry::kCounter;
using telemetry::kGauge;

const telemetry::MetricTable<Reviewer::Statistics>& metrics() {
  using Counted = Reviewer::Statistics;
  static const telemetry::MetricTable<Counted> table{
      {"sluice_token_reviews_total",
       kCounter,
       "Reviews of service account tokens by Kubernetes: the token is valid (accepted), is not valid (refused), or "
       "Kubernetes did not review it (error).",
       "result",
       {{"accepted", &Counted::accepted}, {"refused", &Counted::refused}, {"error", &Counted::failed}}},
  };
  return table;
}

}  // namespace sluice::server::identity
