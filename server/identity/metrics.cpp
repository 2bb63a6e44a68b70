#include "server/identity/metrics.hpp"

namespace sluice::server::identity {

void add_metrics(telemetry::Registry& registry, const Reviewer& reviewer) {
  const Reviewer::Statistics& counted = reviewer.statistics();
  registry.counter("sluice_token_reviews_accepted_total",
                   "Tokens of service accounts that Kubernetes was asked of and accepts.", counted.good);
  registry.counter("sluice_token_reviews_refused_total", "Tokens that Kubernetes was asked of and does not accept.",
                   counted.bad);
  registry.counter("sluice_token_reviews_failed_total", "Times that Kubernetes could not be asked, or did not say.",
                   counted.away);
}

}  // namespace sluice::server::identity
