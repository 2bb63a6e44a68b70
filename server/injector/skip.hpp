// Which pods get no sidecar, and why.
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
  opted_out,     // by the pod's label
  namespace_,    // the system's, or the server's own
  mirror_pod,    // shows a static pod; changing it changes nothing
  host_network,  // its ports are the node's: a second such pod could not start
  windows,       // the agent is a Linux program
  port_clash,    // one of its containers listens where the agent would
  name_clash,    // it has a container with the sidecar's name that the injector did not add
  volume_clash,  // likewise a volume
  not_a_create,  // an existing pod cannot get a sidecar
};
inline constexpr std::size_t kSkipReasons = 9;
std::string_view to_string(SkipReason reason);

struct Skip {
  SkipReason reason = SkipReason::opted_out;
  std::string text;  // one sentence: why, and where there is one the way out
  // The pod's creator wanted this, or it does not concern them: give no warning.
  bool wanted() const;
};

// nullopt: the pod gets a sidecar.
std::optional<Skip> find_skip(const Pod& pod, std::string_view namespace_, const InjectorSettings& settings);

}  // namespace sluice::server::injector
