// The settings of one pod's sidecar: the administrator's, with the changes by the pod's annotations.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "server/injector/pod.hpp"
#include "server/injector/settings.hpp"

namespace sluice::server::injector {

// Adds a warning for each annotation with Sluice's prefix that is unknown or invalid, and ignores it.
SidecarSettings read_pod_settings(const Pod& pod, const SidecarSettings& defaults, std::vector<std::string>& warnings);

// Whether the pod has requests or limits for all its containers together (`spec.resources`).
bool has_pod_resources(const Pod& pod);

}  // namespace sluice::server::injector
