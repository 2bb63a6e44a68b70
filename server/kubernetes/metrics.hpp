// The metrics of the certificate that the server keeps in Kubernetes.
#pragma once

#include "common/telemetry/registry.hpp"
#include "server/kubernetes/certificate_keeper.hpp"

namespace sluice::server::kubernetes {

// REQUIRES: the keeper outlives every scrape.
void add_metrics(telemetry::Registry& registry, const CertificateKeeper& keeper);

}  // namespace sluice::server::kubernetes
