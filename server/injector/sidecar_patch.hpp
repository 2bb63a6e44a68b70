// Writes the part of a pod's JSON patch that adds or updates the sidecar's container and volumes.
#pragma once

#include <string>

#include "common/json/patch.hpp"
#include "server/injector/pod.hpp"
#include "server/injector/sidecar.hpp"

namespace sluice::server::injector {

// `container`: the result of sidecar_container(). A new sidecar becomes the first init container. REQUIRES: called
// after all patches that use an index of an init container.
void patch_sidecar(json::Patch& patch, const Pod& pod, const std::string& container);

// Appends the volumes that the pod does not have yet, and replaces those that differ.
void patch_volumes(json::Patch& patch, const Pod& pod, const std::vector<NamedJson>& volumes);

}  // namespace sluice::server::injector
