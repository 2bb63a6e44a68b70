// How Kubernetes' reviews of agents' tokens are counted.
#pragma once

#include "server/identity/reviewer.hpp"
#include "server/metrics.hpp"

namespace sluice::server {

// REQUIRES: the reviewer outlives the metrics.
void add_identity_metrics(Metrics& metrics, const Reviewer& reviewer);

}  // namespace sluice::server
