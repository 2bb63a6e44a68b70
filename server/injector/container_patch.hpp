// What the pod's own containers get, so that they find the agent: two variables and the folder of its socket.
//
// Nothing that is there is changed: a variable that is set stays as it is, and where the folder is taken, it is left
// alone. The variables come first, so that a container's own may refer to them: $(SLUICE_URL).
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "common/json/patch.hpp"
#include "server/injector/pod.hpp"

namespace sluice::server::injector {

// `at`: the pointer of the container.
void patch_container(json::Patch& patch, std::string_view at, const json::Value& container,
                     std::vector<std::string>& warnings);

// All of the pod's containers, and the init containers that start after the sidecar.
void patch_containers(json::Patch& patch, const Pod& pod, std::vector<std::string>& warnings);

}  // namespace sluice::server::injector
