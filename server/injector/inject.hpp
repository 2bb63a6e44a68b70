// Computes the JSON patch that adds a sidecar (a container with the agent) to a pod.
//
// Idempotent: a pod that was already patched gets an empty patch, even if the API server has filled in defaults since.
// An existing sidecar, recognised by its name and the annotation sluice.dev/injected, is updated to the current
// settings. It keeps its position, and additions by others stay.
//
// An unknown or invalid annotation gives a warning and the default is used, because an error in the agent's settings
// must not keep a pod from starting. The warnings are also written to the annotation sluice.dev/warnings, because most
// pods are created by controllers, which do not show warnings. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/tree.hpp"
#include "server/injector/settings.hpp"
#include "server/injector/skip.hpp"

namespace sluice::server::injector {

struct Injection {
  enum class Result : std::uint8_t { injected, updated, unchanged, skipped };
  Result result = Result::unchanged;
  std::string patch;  // RFC 6902; "": nothing to change
  std::vector<std::string> warnings;
  std::optional<Skip> skip;  // why the pod gets no sidecar; only if `skipped`
};

Injection inject(const json::Value& pod, std::string_view namespace_, const InjectorSettings& settings);

// Whether inject() would add a sidecar. If this is true for an existing pod, the pod was created without the injector.
bool lacks_sidecar(const json::Value& pod, std::string_view namespace_, const InjectorSettings& settings);

}  // namespace sluice::server::injector
