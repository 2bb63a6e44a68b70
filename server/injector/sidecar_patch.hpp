// The sidecar's own parts of the patch: its container and its volumes, new or brought up to date.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "common/json/patch.hpp"
#include "server/injector/pod.hpp"
#include "server/injector/sidecar.hpp"

namespace sluice::server::injector {

// `container`: as sidecar_container() has it. A new one becomes the first of the init containers. Call it after all
// that names init containers by their index.
void patch_sidecar(json::Patch& patch, const Pod& pod, const std::string& container);

// Those that are not there are appended.
void patch_volumes(json::Patch& patch, const Pod& pod, const std::vector<NamedJson>& volumes);

}  // namespace sluice::server::injector
