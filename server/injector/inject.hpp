// What a pod needs to have a sidecar, as a patch of its JSON.
//
// Pure, and idempotent: of a pod as the patch leaves it, or as the API server made it whole, nothing more is asked. A
// sidecar from before, known by its name and the annotation sluice.dev/injected, is brought up to what the settings say
// now; it stays where it stands, and what others have added to it stays too.
//
// An annotation of the pod that the allow-list does not know, or whose value breaks its rule, is a warning, and the
// default stands: a pod is not kept from starting by how its agent logs. Most pods are made by controllers, which show
// warnings to nobody: they are in the annotation sluice.dev/warnings too.
// Thread safety: pure functions.
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
  std::optional<Skip> skip;  // with `skipped`
};

Injection inject(const json::Value& pod, std::string_view namespace_, const InjectorSettings& settings);

// Whether inject() would add a sidecar, without saying how: the pod was missed when it was made.
bool lacks_sidecar(const json::Value& pod, std::string_view namespace_, const InjectorSettings& settings);

}  // namespace sluice::server::injector
