#include "server/kubernetes/metrics.hpp"

#include "common/program/certificate.hpp"

namespace sluice::server::kubernetes {

void add_metrics(telemetry::Registry& registry, const CertificateKeeper& keeper) {
  program::expose_end(registry, keeper.certificates());
  const CertificateKeeper::Statistics& counted = keeper.statistics();
  registry.gauge("sluice_tls_ca_not_after_seconds", "When the authority in force ends, Unix time.",
                 counted.ca_not_after);
  registry.counter("sluice_tls_rotations_total", "Certificates that were put in force after the first.",
                   counted.rotations);
  registry.counter("sluice_tls_failures_total", "Looks at the certificate's Secret, or at who trusts it, that failed.",
                   counted.failures);
}

}  // namespace sluice::server::kubernetes
