// Patches the pod's own containers so that they find the agent: adds the variables SLUICE_URL and SLUICE_SOCKET, and
// mounts the folder of the agent's socket.
//
// Existing variables and mounts stay as they are. The new variables come first, so that the container's own variables
// can refer to the new ones: $(SLUICE_URL).
#pragma once

#include <string>
#include <vector>

#include "common/json/patch.hpp"
#include "server/injector/pod.hpp"

namespace sluice::server::injector {

// `at`: the JSON pointer of the container in the pod.
void patch_container(json::Patch& patch, std::string_view at, const json::Value& container,
                     std::vector<std::string>& warnings);

// Patches all containers of the pod, except init containers that start before the sidecar.
void patch_containers(json::Patch& patch, const Pod& pod, std::vector<std::string>& warnings);

}  // namespace sluice::server::injector
