// Writes the sidecar as JSON: the agent's container and the volumes that it needs.
//
// The container meets the Pod Security standard "restricted", whatever the pod's own security context says. No secret
// is put into a pod: the agent authenticates with its service account's token and gets what it needs from the server.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "server/injector/settings.hpp"

namespace sluice::server::injector {

// An init container that starts before the pod's own containers and runs as long as the pod (`restartPolicy: Always`).
// `with_resources`: whether the container gets resource requests and limits of its own. False if the pod sets them for
// all its containers together; the sidecar then shares those.
std::string sidecar_container(const InjectorSettings& settings, const SidecarSettings& sidecar, bool with_resources);

// Whether the sidecar's environment variable `name` is the injector's. If not, another webhook or a person added it.
bool is_own_variable(std::string_view name);

struct NamedJson {
  std::string name;
  std::string json;
};
std::vector<NamedJson> sidecar_volumes(const InjectorSettings& settings);

}  // namespace sluice::server::injector
