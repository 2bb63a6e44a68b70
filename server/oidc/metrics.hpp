// Metrics of sign-ins by OpenID Connect.
#pragma once

#include "common/telemetry/metric_table.hpp"
#include "server/oidc/service.hpp"

namespace sluice::server::oidc {

const telemetry::MetricTable<SignInService::Statistics>& metrics();

}  // namespace sluice::server::oidc
