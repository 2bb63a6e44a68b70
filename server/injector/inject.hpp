// Computes the JSON patch that adds a sidecar (a container with the agent) to a pod, or updates an existing sidecar. A
// pod that is skipped gets an annotation that says why.
//
// Patching a pod again with the same settings changes nothing, even if the API server has filled in defaults.
// An unknown or invalid annotation gives only a warning, so that the pod can start. Warnings also become an annotation,
// because controllers, which create most pods, do not show warnings.
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
  std::optional<Skip> skip;  // set only if `result` is `skipped`
};

std::string_view to_string(Injection::Result result);

// `traceparent`: the span of this review, below which the agent of a new sidecar starts; "": none. A sidecar that the
// pod has already keeps what it got.
Injection inject(const json::Value& pod, std::string_view namespace_, const InjectorSettings& settings,
                 std::string_view traceparent = {});

}  // namespace sluice::server::injector
