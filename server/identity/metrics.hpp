// The metrics of Kubernetes' reviews of agents' tokens.
#pragma once

#include "common/telemetry/registry.hpp"
#include "server/identity/reviewer.hpp"

namespace sluice::server::identity {

// REQUIRES: the reviewer outlives every scrape.
void add_metrics(telemetry::Registry& registry, const Reviewer& reviewer);

}  // namespace sluice::server::identity
