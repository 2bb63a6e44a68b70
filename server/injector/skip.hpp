// Decides which pods are skipped (get no sidecar), and why. inject() uses it.
//
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/injector/pod.hpp"
#include "server/injector/settings.hpp"

namespace sluice::server::injector {

enum class SkipReason : std::uint8_t {
  opted_out,     // the pod's label sluice.dev/inject is `disabled`
  namespace_,    // the pod is in a namespace of Kubernetes itself, or in the server's own
  mirror_pod,    // the pod mirrors a static pod, and a change of the mirror has no effect
  host_network,  // the pod's ports are the node's ports, so a second pod with an agent could not start on this node
  windows,       // the pod is for Windows, but the agent is a Linux program
  port_clash,    // a container declares one of the agent's ports as its own
  name_clash,    // a container has the sidecar's name, but the injector did not add it
  volume_clash,  // a volume has the name of a volume of the sidecar, but the injector did not add it
  not_a_create,  // the pod is not being created, and an existing pod cannot get a sidecar
};
inline constexpr std::size_t kSkipReasons = 9;
std::string_view to_string(SkipReason reason);

struct Skip {
  SkipReason reason = SkipReason::opted_out;
  std::string text;  // one sentence: why, and how to change that if it can be changed
  // Whether to warn the creator of the pod. False if the creator wanted no sidecar, or cannot change the reason.
  bool needs_warning() const;
};

// nullopt: the pod gets a sidecar.
std::optional<Skip> find_skip(const Pod& pod, std::string_view namespace_, const InjectorSettings& settings);

}  // namespace sluice::server::injector
