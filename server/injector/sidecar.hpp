// Writes the sidecar as JSON: the agent's container and the volumes that it needs.
// The container meets the Pod Security standard "restricted" and holds no secrets.
#pragma once

#include <string>
#include <vector>

#include "server/injector/settings.hpp"

namespace sluice::server::injector {

// An init container that runs as long as the pod. `with_resources`: false if the pod sets resource requests and limits
// for all its containers together. `traceparent`: the span below which the agent starts; "": none.
std::string sidecar_container(const InjectorSettings& settings, const SidecarSettings& sidecar, bool with_resources,
                              std::string_view traceparent);

// Whether the injector sets and removes the sidecar's variable `name`. The injector keeps variables that others added.
bool is_own_variable(std::string_view name);

struct NamedJson {
  std::string name;
  std::string json;
};
std::vector<NamedJson> sidecar_volumes(const InjectorSettings& settings);

}  // namespace sluice::server::injector
