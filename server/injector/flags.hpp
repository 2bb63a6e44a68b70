// The flags of the injector: --webhook and what goes into pods.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/program/config_reader.hpp"
#include "server/injector/settings.hpp"
#include "server/kubernetes/api_client.hpp"

namespace sluice::server::injector {

struct InjectorOptions {
  std::string listen;
  InjectorSettings settings;  // without the authorities' certificates
  std::string counters_ca_file;
  std::chrono::milliseconds missed_every{60'000};
};

// Nothing without --webhook. `api`: it names the namespace where this server runs, and no pod is touched; without it
// that is sluice-system.
std::optional<InjectorOptions> read_injector(program::ConfigReader& reader,
                                             const std::optional<kubernetes::ApiOptions>& api);

}  // namespace sluice::server::injector
