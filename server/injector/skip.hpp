// Decides which pods are skipped (get no sidecar), and why; and which running pods should have been asked about.
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
  host_network,  // the pod's ports are the node's ports, so only one pod per node could have an agent
  windows,
  port_clash,    // a container declares one of the agent's ports
  name_clash,    // a container that the injector did not add has the sidecar's name
  volume_clash,  // a volume that the injector did not add has the name of a sidecar's volume
  not_a_create,  // an existing pod cannot get a sidecar
};
inline constexpr std::size_t kSkipReasons = 9;
std::string_view to_string(SkipReason reason);

struct Skip {
  SkipReason reason = SkipReason::opted_out;
  std::string text;  // one sentence for people
  // False if the pod's creator wanted no sidecar, or cannot change the reason.
  bool needs_warning() const;
  // False if the injector must not change anything of the pod.
  bool may_annotate() const;
};

// nullopt: the pod gets a sidecar.
std::optional<Skip> find_skip(const Pod& pod, std::string_view namespace_, const InjectorSettings& settings);

// Whether no pod of the namespace gets a sidecar: it is one of Kubernetes itself, or the server's own.
bool is_excluded(std::string_view namespace_, const InjectorSettings& settings);

// Why a pod on the node's network gets no sidecar, for people.
inline constexpr std::string_view kHostNetworkText =
    "it uses the node's network, where the agent's ports would be the node's: use a gateway instead";

// Whether a running pod should have a sidecar, but the webhook was not asked when the pod was created. Reads only the
// pod's metadata, where the webhook has left its word. REQUIRES: the pod's namespace is labelled and not excluded, and
// the pod does not use the node's network.
bool was_missed(const Pod& pod);

// Why the webhook has skipped a running pod, in words; "": it has not. Reads only the pod's metadata, as was_missed().
std::string_view why_skipped(const Pod& pod);

}  // namespace sluice::server::injector
