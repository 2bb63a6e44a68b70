// The metrics of the certificate that the server stores in Kubernetes.
#pragma once

#include "common/telemetry/metric_table.hpp"
#include "server/kubernetes/certificate_keeper.hpp"

namespace sluice::server::kubernetes {

const telemetry::MetricTable<CertificateKeeper>& metrics();

}  // namespace sluice::server::kubernetes
