#include "server/identity_metrics.hpp"

namespace sluice::server {

void add_identity_metrics(Metrics& metrics, const Reviewer& reviewer) {
  const Reviewer::Statistics& counted = reviewer.statistics();
  const auto counter = [&metrics](const char* name, const char* help, const auto& value) {
    metrics.add(name, help, prometheus::MetricType::Counter, [&value] { return static_cast<double>(value.load()); });
  };
  counter("sluice_token_reviews_accepted_total", "Tokens of service accounts that Kubernetes was asked of and accepts.",
          counted.good);
  counter("sluice_token_reviews_refused_total", "Tokens that Kubernetes was asked of and does not accept.",
          counted.bad);
  counter("sluice_token_reviews_failed_total", "Times that Kubernetes could not be asked, or did not say.",
          counted.away);
}

}  // namespace sluice::server
