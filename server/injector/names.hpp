// Names of labels, annotations, containers and ports that the injector, pods and manifests share. They must not change,
// because existing pods have them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sluice::server::injector {

inline constexpr std::string_view kPrefix = "sluice.dev/";
inline constexpr std::string_view kInjectLabel = "sluice.dev/inject";      // label: enabled (namespace), disabled (pod)
inline constexpr std::string_view kInjected = "sluice.dev/injected";       // annotation: the injector's version
inline constexpr std::string_view kSkipped = "sluice.dev/skipped";         // annotation: why the pod has no agent
inline constexpr std::string_view kWarnings = "sluice.dev/warnings";       // annotation: the injector's warnings
inline constexpr std::string_view kServerCa = "sluice.dev/server-ca";      // annotation: the server's CA (PEM)
inline constexpr std::string_view kCountersCa = "sluice.dev/counters-ca";  // annotation: the CA of Redis (PEM)

inline constexpr std::string_view kSkippedWarning = "the pod gets no agent: ";  // begins kWarnings of such a pod

inline constexpr std::string_view kContainer = "sluice-agent";
inline constexpr std::string_view kSocketVolume = "sluice-socket";
inline constexpr std::string_view kStateVolume = "sluice-state";
inline constexpr std::string_view kIdentityVolume = "sluice-identity";

inline constexpr std::string_view kSocketFolder = "/var/run/sluice";
inline constexpr std::string_view kSocket = "/var/run/sluice/agent.sock";
inline constexpr std::string_view kStateFolder = "/var/lib/sluice";
inline constexpr std::string_view kIdentityFolder = "/var/run/secrets/sluice";

inline constexpr std::int64_t kCheckPort = 8088;  // the agent's, on loopback
inline constexpr std::int64_t kAdminPort = 9088;  // the agent's, for probes and metrics
inline constexpr std::string_view kUrl = "http://127.0.0.1:8088";

// Namespaces whose pods never get a sidecar, besides the server's own namespace.
inline constexpr std::array<std::string_view, 3> kSystemNamespaces{"kube-system", "kube-public", "kube-node-lease"};

}  // namespace sluice::server::injector
