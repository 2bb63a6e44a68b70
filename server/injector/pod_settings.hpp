// Computes the settings of one pod's sidecar: the administrator's defaults, changed by the pod's annotations.
#pragma once

#include <string>
#include <vector>

#include "server/injector/pod.hpp"
#include "server/injector/settings.hpp"

namespace sluice::server::injector {

// Ignores annotations sluice.dev/… that are unknown or invalid, and adds a warning for each.
SidecarSettings read_pod_settings(const Pod& pod, const SidecarSettings& defaults, std::vector<std::string>& warnings);

// Whether the pod has requests or limits for all its containers together (`spec.resources`).
bool has_pod_resources(const Pod& pod);

}  // namespace sluice::server::injector
