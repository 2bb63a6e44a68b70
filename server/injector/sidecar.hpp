// The sidecar as JSON: the container and the volumes it needs.
//
// The container runs under Pod Security "restricted" wherever the pod does, whatever the pod's own security context
// says. Secrets are in no pod: the agent proves itself by its token and is handed what it needs by the server.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "server/injector/settings.hpp"

namespace sluice::server::injector {

// An init container that starts before the pod's own and runs as long as the pod (`restartPolicy: Always`).
// `with_resources` false: it takes part in what the pod as a whole was given.
std::string sidecar_container(const InjectorSettings& settings, const SidecarSettings& sidecar, bool with_resources);

// Whether a variable of the sidecar's is the injector's; others may have put theirs beside them.
bool is_own_variable(std::string_view name);

struct NamedJson {
  std::string name;
  std::string json;
};
std::vector<NamedJson> sidecar_volumes(const InjectorSettings& settings);

}  // namespace sluice::server::injector
